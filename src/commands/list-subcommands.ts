import type { CommandDefinition, CommandOptions } from './command-line.ts';
import { type Given, readText, type Subcommand, table } from './subcommand.ts';

const LIMIT = {
  limit: { type: 'string', value: 'N', description: 'number of entries (default 10)' },
} as const;
const WORKSPACE = {
  workspace: { type: 'string', value: 'ID', description: 'only entries of this workspace' },
} as const;
const FILTER = {
  q: {
    type: 'string',
    value: 'FILTER',
    description: 'only entries that match, for example "status:dropped !type:message.status"',
  },
} as const;
const DEFAULT_LIMIT = '10';

/** The query of a list. */
function page(options: CommandOptions): { readonly query: Readonly<Record<string, string | undefined>> } {
  const workspaceId = readText(options, 'workspace');
  return {
    query: { limit: readText(options, 'limit') ?? DEFAULT_LIMIT, workspaceId, q: readText(options, 'q') },
  };
}

/** A subcommand that prints the entries of a list, one per line. */
function list<Entry>(lists: {
  readonly words?: string;
  readonly summary: string;
  readonly options: NonNullable<CommandDefinition['options']>;
  readonly read: (
    given: Given,
    request: ReturnType<typeof page>,
  ) => Promise<{ readonly entries: readonly Entry[] }>;
  readonly columns: (entry: Entry) => readonly (string | number | null)[];
  /** What an empty list prints. */
  readonly none: string;
}): Subcommand {
  const { words = '', summary, options, read, columns, none } = lists;
  return {
    words,
    summary,
    options,
    async run(given) {
      const json = await read(given, page(given.options));
      return { json, text: table(json.entries.map(columns), none) };
    },
  };
}

/** A delay of a contact. */
const after = (ms: number | null): string => (ms === null ? 'never' : `after ${ms} ms`);

const describeKeys = (count: number): string => `${count} API ${count === 1 ? 'key' : 'keys'}`;

/** The subcommands of `sandbox` that list something, by name. */
export const LISTS = {
  connections: list({
    summary: 'lists the connections of all workspaces, oldest first.',
    options: { ...LIMIT, ...WORKSPACE, ...FILTER },
    read: ({ call }, request) => call('listConnections', request),
    columns: (entry) => [
      entry.id,
      entry.phoneNumber,
      entry.provider,
      entry.outage === null ? entry.status : `${entry.status}, outage ${entry.outage}`,
      `license ${entry.licenseStatus}`,
      entry.label,
    ],
    none: 'no connections',
  }),
  received: list({
    words: '<number>',
    summary: "lists the messages that a contact's phone received, oldest first.",
    options: LIMIT,
    read: ({ call, word }, request) =>
      call('listContactMessages', { params: { phone: word('number') }, ...request }),
    columns: ({ at, from, messageId, text }) => [at, from, messageId, text],
    none: 'no messages',
  }),
  deliveries: list({
    summary: 'lists webhook deliveries and their outcome, newest first.',
    options: { ...LIMIT, ...WORKSPACE, ...FILTER },
    read: ({ call }, request) => call('listDeliveries', request),
    columns: ({ id, copyOf, createdAt, event, messageId, outcome, attempts }) => [
      copyOf === undefined ? id : `${id} copy of ${copyOf}`,
      createdAt,
      event,
      messageId,
      outcome,
      attempts.map(({ status, error }) => error ?? status).join(', '),
    ],
    none: 'no deliveries',
  }),
  calls: list({
    summary: 'lists calls to the service with the check that refused them, newest first.',
    options: { ...LIMIT, ...WORKSPACE, ...FILTER },
    read: ({ call }, request) => call('listCalls', request),
    columns: ({ at, method, path, status, code, trace }) => [
      at,
      method,
      path,
      status ?? 'reset',
      code,
      trace.findLast(({ passed }) => !passed)?.why ?? '',
    ],
    none: 'no calls',
  }),
  messages: list({
    summary: 'lists the messages of all workspaces as the service stores them, newest first.',
    options: { ...LIMIT, ...FILTER },
    read: ({ call }, request) => call('listStoredMessages', request),
    columns: ({ createdAt, direction, peer, status, id, text, mediaType }) => [
      createdAt,
      direction,
      peer,
      status,
      id,
      text ?? mediaType,
    ],
    none: 'no messages',
  }),
  contacts: list({
    summary: 'lists the people whose behavior was set.',
    options: { ...LIMIT, ...FILTER },
    read: ({ call }, request) => call('listContacts', request),
    columns: ({ phone, onNetwork, deliverAfterMs, readAfterMs, autoReply }) => [
      phone,
      onNetwork ? `delivered ${after(deliverAfterMs)}, read ${after(readAfterMs)}` : 'not on the network',
      autoReply === null ? '' : `replies "${autoReply}"`,
    ],
    none: 'no contacts',
  }),
  workspaces: list({
    summary: 'lists workspaces with their slots and API keys.',
    options: LIMIT,
    read: ({ call }, request) => call('listWorkspaces', request),
    columns: ({ id, kind, slots, apiKeys }) => [
      id,
      kind,
      `${slots.used} of ${slots.total} slots used`,
      describeKeys(apiKeys.filter(({ revokedAt }) => revokedAt === null).length),
    ],
    none: 'no workspaces',
  }),
  webhooks: list({
    summary: 'lists the webhooks of workspaces and apps with the outcome of their last deliveries.',
    options: LIMIT,
    read: ({ call }, request) => call('listWebhooks', request),
    columns: ({ subscription: { kind, id }, url, lastDeliveries }) => [
      `${kind} ${id}`,
      url,
      lastDeliveries.map(({ outcome }) => outcome).join(', '),
    ],
    none: 'no webhooks',
  }),
  snapshots: list({
    summary: 'lists the snapshots, oldest first.',
    options: {},
    read: ({ call }) => call('listSnapshots'),
    columns: ({ id, now, label }) => [id, now, label],
    none: 'no snapshots',
  }),
};
