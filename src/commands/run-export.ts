import { givenFields } from '../contract/schema/given-fields.ts';
import { type CallConnector, callConnectorAt } from './call-connector.ts';
import { UsageError } from './command-line.ts';
import { COMMANDS } from './commands.ts';
import { CONNECTOR_OPTIONS, readConnectorUrl, readToken } from './connector-target.ts';
import { type CommandStreams, runCommand } from './run-command.ts';
import { type ExportPage, writeExport } from './write-export.ts';

const PAGE = 1_000;
/** Entries between two lines of progress. */
const STEP = 10_000;

const COMMAND = {
  name: 'export',
  summary: COMMANDS.export,
  words: '<what>',
  options: {
    ...CONNECTOR_OPTIONS,
    out: { type: 'string', value: 'FILE', description: 'write to this file, which must not exist yet' },
    person: {
      type: 'string',
      value: 'NUMBER',
      description: 'only messages with this person, in any spelling',
    },
    account: { type: 'string', value: 'ID', description: 'only of this account' },
    connection: { type: 'string', value: 'ID', description: 'only of this connection' },
    json: { type: 'boolean', description: 'print one JSON line, {"entries", "bytes", "sha256"}' },
  },
  more: `
<what> is messages, newest first, or changes, oldest first. Each line of the file is one entry of the API, as JSON.
FILE.sha256 has its checksum. An export that was interrupted leaves FILE.progress: the same command continues it.
`,
} as const;

type Query = Readonly<Record<string, string>>;
type Read = (call: CallConnector, query: Query, cursor: string | null) => Promise<ExportPage>;

const READ: Readonly<Record<string, Read>> = {
  async messages(call, query, cursor) {
    const { messages, nextCursor } = await call('listMessages', {
      query: { ...query, limit: String(PAGE), ...(cursor === null ? {} : { cursor }) },
    });
    return { entries: messages, next: nextCursor };
  },
  async changes(call, query, cursor) {
    const { changes, nextCursor, hasMore } = await call('listChanges', {
      query: { ...query, limit: String(PAGE), after: cursor ?? '0' },
    });
    return { entries: changes, next: hasMore ? nextCursor : null };
  },
};

/** Runs the command, as `runCommand` does. */
export async function runExport(words: readonly string[], streams?: CommandStreams): Promise<void> {
  await runCommand(
    COMMAND,
    async ({ options, words: { what = '' }, env, print }) => {
      const read = READ[what];
      if (read === undefined)
        throw new UsageError(`"${what}" cannot be exported, only ${Object.keys(READ).join(' or ')}.`);
      if (what !== 'messages' && options['person'] !== undefined)
        throw new UsageError('--person selects messages; changes are read as a whole.');
      const file = options['out'];
      if (typeof file !== 'string' || file === '')
        throw new UsageError('--out is missing: pass the file to write. See --help.');
      const url = readConnectorUrl(options['connector']);
      const call = callConnectorAt(url, readToken(options, env));
      const query = givenFields({
        person: text(options['person']),
        accountId: text(options['account']),
        connectionId: text(options['connection']),
      });
      const isJson = options['json'] === true;
      let said = 0;
      const exported = await writeExport({
        file,
        subject: { url, what, ...query },
        readPage: (cursor) => read(call, query, cursor),
        onPage(entries) {
          if (isJson || entries < said + STEP) return;
          said = entries;
          print(`${entries} ${what}\n`);
        },
      });
      print(
        isJson
          ? `${JSON.stringify(exported)}\n`
          : `${exported.entries} ${exported.entries === 1 ? what.slice(0, -1) : what} in ${file}, ${exported.bytes} bytes, sha256 ${exported.sha256}\n`,
      );
    },
    words,
    streams,
  );
}

const text = (value: string | boolean | undefined): string | undefined =>
  value === undefined ? undefined : String(value);
