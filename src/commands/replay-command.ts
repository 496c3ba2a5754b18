import { readInteger } from './command-line.ts';
import { runCommand } from './run-command.ts';
import { runReplay } from './run-replay.ts';

const TROUBLE = 2;

const COMMAND = {
  name: 'replay',
  summary:
    'merges the retained deliveries again, in transactions that are rolled back, and shows which stored messages lack data. ' +
    'Keeps nothing without --apply. Exits with 0 if nothing differs (with --apply: if no difference is left), 1 if something does, ' +
    'and 2 if it could not finish. What only polls or sends reported is not in the deliveries and does not count as a difference.',
  options: {
    apply: {
      type: 'boolean',
      description:
        'keep what the merge adds: no status moves backwards, nothing is deleted, and the changes appear in the feed',
    },
    show: {
      type: 'string',
      value: 'N',
      description: 'maximum number of messages to show (default 50; --json shows all)',
    },
    json: { type: 'boolean', description: 'print one JSON line for each message, and one with {"summary"}' },
    'data-dir': {
      type: 'string',
      value: 'DIR',
      description: 'folder for the data of the embedded Postgres (default .data)',
    },
  },
} as const;

await runCommand(COMMAND, async (context) => {
  const show = readInteger(context.options, 'show', 'a number') ?? 50;
  try {
    process.exitCode = await runReplay(context, { show, signal: abortOnSignals() });
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    process.stderr.write(`The replay did not finish: ${reason}\n`);
    process.exitCode = TROUBLE;
  }
});

/** Ctrl-C ends the replay after the current page, with a message. */
function abortOnSignals(): AbortSignal {
  const over = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => over.abort(new Error('it was stopped. What --apply has merged stays.')));
  }
  return over.signal;
}
