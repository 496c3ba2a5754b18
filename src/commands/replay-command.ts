import { UsageError } from './command-line.ts';
import { runCommand } from './run-command.ts';
import { runReplay } from './run-replay.ts';

const TROUBLE = 2;

const COMMAND = {
  name: 'replay',
  summary:
    'merges the kept days of the raw inbox once more, in transactions that are rolled back, and shows how the live messages differ. ' +
    'Keeps nothing of it without --apply. Ends with 0 when nothing differs (with --apply: when nothing is left that differs), ' +
    '1 when something does, 2 when it could not be found out. Polls and sends are not in the inbox: what they told is no difference.',
  options: {
    apply: {
      type: 'boolean',
      description:
        'keep what the merge adds: no status moves backwards, nothing is erased, the feed shows it',
    },
    show: {
      type: 'string',
      value: 'N',
      description: 'how many messages to show (default 50; --json shows all)',
    },
    json: { type: 'boolean', description: 'print one JSON line for each message, and one with {"summary"}' },
    'data-dir': {
      type: 'string',
      value: 'DIR',
      description: 'where a Postgres of its own keeps its data (default .data)',
    },
  },
} as const;

await runCommand(COMMAND, async (context) => {
  const show = readShow(context.options['show']);
  try {
    process.exitCode = await runReplay(context, { show, signal: abortOnSignals() });
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    process.stderr.write(`The replay did not come to its end: ${reason}\n`);
    process.exitCode = TROUBLE;
  }
});

function readShow(value: string | boolean | undefined): number {
  if (value === undefined) return 50;
  if (typeof value === 'string' && /^\d{1,9}$/.test(value)) return Number(value);
  throw new UsageError(`--show takes a number, not "${String(value)}".`);
}

/** Ctrl-C ends the replay after its page, so that it says so. */
function abortOnSignals(): AbortSignal {
  const over = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => over.abort(new Error('it was stopped; nothing of it is left behind.')));
  }
  return over.signal;
}
