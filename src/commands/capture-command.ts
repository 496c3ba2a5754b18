import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import type { MessageTrace, TraceEntry } from '../contract/connector/trace.ts';
import { buildCapture } from '../scenario/capture.ts';
import { createRedactor } from '../scenario/redact.ts';
import { writeScenario } from '../scenario/scenario.ts';
import { callConnectorAt } from './call-connector.ts';
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
  const call = callConnectorAt(readConnectorUrl(options['connector']), readToken(options, env));
  const params = { id };
  const message = await call('getMessage', { params });
  const entries: TraceEntry[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const query: { cursor?: string } = cursor === '' ? {} : { cursor };
    const page: MessageTrace = await call('getMessageTrace', { params, query });
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
