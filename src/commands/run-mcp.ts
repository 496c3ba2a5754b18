import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { createEventParser } from '../runtime/http-server/event-parser.ts';
import { COMMANDS } from './commands.ts';
import { CONNECTOR_OPTIONS, readConnectorUrl, readToken } from './connector-target.ts';
import { type CommandStreams, runCommand } from './run-command.ts';

const COMMAND = {
  name: 'mcp',
  summary: COMMANDS.mcp,
  options: CONNECTOR_OPTIONS,
  more: `
For agents that start their tool servers as programs. It passes their messages on to \`/mcp\` of the connector, with the
token; what the token may not use is not listed. In the settings of the agent, the command is \`npx\` and its arguments
are \`--no-install messaging-connector mcp --connector URL\`, in the folder where the package is installed.
`,
} as const;

/** Longer than any tool takes. */
const DEADLINE_MS = 180_000;
/** Codes of JSON-RPC. */
const PARSE_ERROR = -32_700;
const INTERNAL_ERROR = -32_603;

interface Message {
  readonly jsonrpc?: '2.0';
  readonly id?: string | number;
  readonly method?: string;
  readonly result?: { readonly protocolVersion?: string };
  /** Of an error of the API. */
  readonly message?: string;
}

/** Runs the command on these messages, one in each line, as `runCommand` does. Ends with them. */
export async function runMcp(
  given: readonly string[],
  input: Readable,
  streams?: CommandStreams,
): Promise<void> {
  await runCommand(
    COMMAND,
    async ({ options, env, print }) => {
      const relay = createRelay(readConnectorUrl(options['connector']), readToken(options, env));
      const open = new Set<Promise<void>>();
      for await (const line of createInterface({ input })) {
        if (line.trim() === '') continue;
        const passed = relay(line).then((answers) => {
          for (const answer of answers) print(`${JSON.stringify(answer)}\n`);
          open.delete(passed);
        });
        open.add(passed);
      }
      await Promise.all(open);
    },
    given,
    streams,
  );
}

/**
 * Passes a message on and resolves with the answers. What cannot be passed on is answered with an error that says what
 * to do, unless it is a notification, which nobody answers.
 */
function createRelay(url: string, token: string): (line: string) => Promise<readonly unknown[]> {
  let version: string | undefined;

  async function post(line: string): Promise<Message[]> {
    const response = await fetch(`${url}/mcp`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        accept: 'application/json, text/event-stream',
        'content-type': 'application/json',
        ...(version === undefined ? {} : { 'mcp-protocol-version': version }),
      },
      body: line,
      redirect: 'manual',
      signal: AbortSignal.timeout(DEADLINE_MS),
    });
    const text = await response.text();
    if (response.status === 401) throw new Error('it does not accept the token; use one of its API tokens');
    if (response.headers.get('content-type')?.startsWith('text/event-stream') === true)
      return createEventParser()(text).flatMap(({ data }) => (data ? [JSON.parse(data)] : []));
    if (text === '' && response.ok) return [];
    const answer = readMessage(text);
    if (answer?.jsonrpc === undefined)
      throw new Error(answer?.message ?? `it returned status ${response.status}. Is it a connector?`);
    return [answer];
  }

  return async (line) => {
    try {
      const answers = await post(line);
      // The connector keeps no session, so the version that it agreed to is named with each message.
      version ??= answers.find(({ result }) => result?.protocolVersion !== undefined)?.result
        ?.protocolVersion;
      return answers;
    } catch (error) {
      const message = readMessage(line);
      if (message === null) return [refuse(null, PARSE_ERROR, 'The line is not JSON.')];
      if (message.id === undefined || message.method === undefined) return [];
      const { message: says, cause } = error as Error & { cause?: { code?: string } };
      const reason = `The connector at ${url} did not answer: ${cause?.code ?? says}`;
      return [refuse(message.id, INTERNAL_ERROR, reason)];
    }
  };
}

const refuse = (id: string | number | null, code: number, message: string): object => ({
  jsonrpc: '2.0',
  id,
  error: { code, message },
});

function readMessage(line: string): Message | null {
  try {
    return Object(JSON.parse(line));
  } catch {
    return null;
  }
}
