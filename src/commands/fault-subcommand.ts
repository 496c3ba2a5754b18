import { FAULT_ACTIONS } from '../contract/sandbox/fault-actions.ts';
import type { FaultActionType, FaultSurface } from '../contract/sandbox/faults.ts';
import { givenFields } from '../contract/schema/given-fields.ts';
import type { CallSandbox } from './call-sandbox.ts';
import { type CommandOptions, UsageError } from './command-line.ts';
import { readConnection, readNumber, readText, type Subcommand, table } from './subcommand.ts';

function readAction(word: string): FaultActionType {
  const known = [...new Set(Object.values(FAULT_ACTIONS).flat())];
  const action = known.find((name) => name === word);
  if (action === undefined) {
    throw new UsageError(`There is no fault "${word}". Use clear, or one of ${known.join(', ')}.`);
  }
  return action;
}

/** The surface that supports an action. Of several: calls if the options describe a call, otherwise webhooks. */
function surfaceOf(action: FaultActionType, options: CommandOptions): FaultSurface {
  const { webhook, api }: Readonly<Record<FaultSurface, readonly FaultActionType[]>> = FAULT_ACTIONS;
  const isCall = options['path'] !== undefined || options['method'] !== undefined;
  const named = readText(options, 'surface');
  if (named !== undefined) return named as FaultSurface;
  return webhook.includes(action) && !(isCall && api.includes(action)) ? 'webhook' : 'api';
}

/** `sandbox faults`: shows the rules, or replaces them with one that its options describe. */
export const FAULTS: Subcommand = {
  words: '[action]',
  summary:
    'lists the fault rules; an action (drop, duplicate, delay, status, …) replaces them with one rule; clear removes them.',
  options: {
    surface: {
      type: 'string',
      value: 'NAME',
      description: 'webhook, api or oauth (default: the one that supports the action)',
    },
    event: { type: 'string', value: 'TYPE', description: 'only webhooks of this event' },
    connection: { type: 'string', value: 'CONNECTION', description: 'only webhooks of this connection' },
    workspace: { type: 'string', value: 'ID', description: 'only webhooks and calls of this workspace' },
    method: { type: 'string', value: 'METHOD', description: 'only calls with this method' },
    path: { type: 'string', value: 'PATH', description: 'only calls to this path; may end in *' },
    first: { type: 'string', value: 'N', description: 'only the first N that match' },
    probability: { type: 'string', value: 'P', description: 'probability for each match, 0 to 1' },
    per: {
      type: 'string',
      value: 'event|attempt',
      description: 'what first and probability count (default: attempt); event: all attempts of an event',
    },
    ms: { type: 'string', value: 'N', description: 'delay, slow: milliseconds' },
    'by-ms': { type: 'string', value: 'N', description: 'stale_timestamp: its age (default: 6 minutes)' },
    times: { type: 'string', value: 'N', description: 'duplicate: number of extra copies' },
    code: { type: 'string', value: 'N', description: 'status: HTTP status, 400 to 599' },
    error: { type: 'string', value: 'CODE', description: 'status: error code of the body' },
    'retry-after': { type: 'string', value: 'S', description: 'status: Retry-After in seconds' },
  },
  async run({ call, optional, options }) {
    const word = optional('action');
    const json = await changeFaults(call, word, options);
    const rows = json.rules.map(({ id, match, action, hits }) => [
      id,
      JSON.stringify(match),
      JSON.stringify(action),
      `${hits} hits`,
    ]);
    return { json, text: table(rows, 'no faults') };
  },
};

async function changeFaults(call: CallSandbox, word: string | undefined, options: CommandOptions) {
  if (word === undefined) return await call('getFaults');
  if (word === 'clear') return await call('deleteFaults');
  const action = readAction(word);
  const connection = readText(options, 'connection');
  const number = (name: string): number | undefined => readNumber(options[name], `--${name}`);
  const text = (name: string): string | undefined => readText(options, name);
  const rule = {
    id: action,
    match: {
      surface: surfaceOf(action, options),
      ...givenFields({
        event: text('event'),
        method: text('method'),
        path: text('path'),
        workspaceId: text('workspace'),
      }),
      ...(connection === undefined ? {} : { connectionId: await readConnection(call, connection) }),
    },
    action: {
      type: action,
      ...givenFields({
        ms: number('ms'),
        byMs: number('by-ms'),
        times: number('times'),
        code: number('code'),
        error: text('error'),
        retryAfter: number('retry-after'),
      }),
    },
    ...givenFields({ first: number('first'), probability: number('probability'), per: text('per') }),
  };
  return await call('putFaults', { body: { rules: [rule] } });
}
