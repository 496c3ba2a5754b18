import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import type { z } from 'zod';
import { connectorMessage } from '../contract/connector/messages.ts';
import { messageTrace, type TraceEntry } from '../contract/connector/trace.ts';
import { buildCapture } from '../scenario/capture.ts';
import { createRedactor } from '../scenario/redact.ts';
import { writeScenario } from '../scenario/scenario.ts';
import { UsageError } from './command-line.ts';
import { COMMANDS } from './commands.ts';
import { CONNECTOR_OPTIONS, readConnectorUrl, readToken } from './connector-target.ts';
import { invoke } from './invocation.ts';
import { runCommand } from './run-command.ts';

const COMMAND = {
  name: 'capture',
  summary: COMMANDS.capture,
  options: {
    message: { type: 'string', value: 'ID', description: 'id of the message' },
    ...CONNECTOR_OPTIONS,
    out: {
      type: 'string',
      value: 'FILE',
      description: 'write the scenario to this file (default: standard output)',
    },
  },
  more: '\nText and phone number are replaced by others of the same form. No secret, token or id of the original is written.\n',
} as const;

await runCommand(COMMAND, async ({ options, env, print }) => {
  const { message: id, out } = options;
  if (typeof id !== 'string' || id === '') throw new UsageError('--message is missing. See --help.');
  const call = callConnector(readConnectorUrl(options['connector']), readToken(options, env));
  const path = `/v1/messages/${encodeURIComponent(id)}`;
  const message = await call(path, connectorMessage);
  const entries: TraceEntry[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const from: string = cursor === '' ? '' : `?cursor=${encodeURIComponent(cursor)}`;
    const page = await call(`${path}/trace${from}`, messageTrace);
    entries.push(...page.entries);
    cursor = page.nextCursor;
  }
  const lines = writeScenario(buildCapture({ message, entries }, createRedactor(randomBytes(32))));
  if (typeof out !== 'string') return print(lines);
  writeFileSync(out, lines);
  print(
    `${entries.length} entries of the trace are in ${out}. Replay it: ${invoke('scenario', `replay ${out}`)}\n`,
  );
});

type Call = <Shape extends z.ZodType>(path: string, shape: Shape) => Promise<z.output<Shape>>;

/** Reads from a connector. @throws Error with the reason for any answer but a 2xx */
function callConnector(url: string, token: string): Call {
  return async (path, shape) => {
    const response = await fetch(`${url}${path}`, { headers: { authorization: `Bearer ${token}` } }).catch(
      () => {
        throw new Error(`No connector answers at ${url}.`);
      },
    );
    if (response.status === 404) throw new Error('The connector has no message with this id.');
    if (response.status === 401) throw new Error('The connector refuses the token.');
    if (!response.ok) throw new Error(`The connector answered ${response.status}.`);
    return shape.parse(await response.json());
  };
}
