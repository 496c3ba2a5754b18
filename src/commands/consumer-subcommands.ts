import { count } from '../connector/state/wording.ts';
import type { DeadLetter } from '../contract/connector/changes.ts';
import type { Consumer, ConsumerFilter } from '../contract/connector/consumers.ts';
import { givenFields } from '../contract/schema/given-fields.ts';
import type { CallConnector } from './call-connector.ts';
import { type CommandOptions, readGivenFile, UsageError } from './command-line.ts';
import { readNumber, readText, type Subcommand, table } from './subcommand.ts';

interface ConnectorTarget {
  readonly call: CallConnector;
}
type ConsumerSubcommand = Subcommand<ConnectorTarget>;

const FROM = {
  type: 'string',
  value: 'POSITION',
  description: 'the first change: now, beginning, its number or a time (default: now)',
} as const;

const SETTINGS = {
  url: { type: 'string', value: 'URL', description: 'kind http: public HTTPS address that receives changes' },
  ordered: {
    type: 'string',
    value: 'yes|no',
    description: 'kind http: whether a failure holds back the connection',
  },
  queue: { type: 'string', value: 'NAME', description: 'kind bullmq: queue that receives changes' },
  prefix: { type: 'string', value: 'TEXT', description: 'kind bullmq: prefix of its keys (default: bull)' },
  'redis-url-file': {
    type: 'string',
    value: 'FILE',
    description: "kind bullmq: file with the address of its Redis (default: the connector's)",
  },
  types: {
    type: 'string',
    value: 'LIST',
    description: 'only these types of change, separated by commas; or all',
  },
  directions: { type: 'string', value: 'LIST', description: 'only incoming or outgoing messages; or all' },
  connections: { type: 'string', value: 'LIST', description: 'only these connections, by id; or all' },
  batch: { type: 'string', value: 'N', description: 'changes of one call, 1 to 100' },
  concurrency: { type: 'string', value: 'N', description: 'connections at the same time, for each process' },
  attempts: { type: 'string', value: 'N', description: 'calls of a change before it becomes a dead letter' },
  'deadline-ms': { type: 'string', value: 'N', description: 'longest call' },
  historic: { type: 'string', value: 'skip|quiet|all', description: 'what it receives of old messages' },
  'place-changes': { type: 'string', value: 'N', description: 'changes that a death may repeat' },
  'place-ms': { type: 'string', value: 'N', description: 'longest time between two stored places' },
} as const;

/** The subcommands of `consumers` by name, in the order of its help. */
export const CONSUMER_SUBCOMMANDS: Readonly<Record<string, ConsumerSubcommand>> = {
  list: {
    words: '',
    summary: 'lists the consumers and how far each is behind.',
    async run({ call }) {
      const json = await call('listConsumers', { query: { limit: 1_000 } });
      return { json, text: table(json.consumers.map(describeShortly), 'no consumers') };
    },
  },
  create: {
    words: '<name>',
    summary: 'creates a consumer: --url makes it http, --queue makes it bullmq. Prints its secret once.',
    options: { ...SETTINGS, from: FROM },
    async run({ call, word, options }) {
      const kind = readKind(options);
      const from = readText(options, 'from');
      const json = await call('createConsumer', {
        body: {
          name: word('name'),
          kind,
          ...readSettings(options),
          filter: await readFilter(options),
          ...(from === undefined ? {} : { from: readPosition(from) }),
        },
      });
      return { json, text: [describe(json.consumer), ...secretLines(json.secret)].join('\n') };
    },
  },
  show: {
    words: '<name>',
    summary: 'shows the settings of a consumer, its progress and its parked connections.',
    run: onOne((call, params) => call('getConsumer', { params })),
  },
  change: {
    words: '<name>',
    summary: 'changes settings of a consumer; its place stays.',
    options: SETTINGS,
    run: onOne(async (call, params, { options }) => {
      const filter = await readFilter(options, async () => (await call('getConsumer', { params })).filter);
      const body = givenFields({ ...readSettings(options), filter });
      if (Object.keys(body).length === 0) throw new UsageError('Pass a setting to change. See --help.');
      return await call('changeConsumer', { params, body });
    }),
  },
  pause: {
    words: '<name>',
    summary: 'pauses a consumer; its place is kept.',
    run: onOne((call, params) => call('pauseConsumer', { params })),
  },
  resume: {
    words: '<name>',
    summary: 'continues a paused or disabled consumer where it stopped.',
    run: onOne((call, params) => call('resumeConsumer', { params })),
  },
  replay: {
    words: '<name> <from>',
    summary: 'delivers changes from a position on, again if they were delivered before.',
    run: onOne((call, params, { word }) =>
      call('replayConsumer', { params, body: { from: readPosition(word('from')) } }),
    ),
  },
  'dead-letters': {
    words: '<name>',
    summary: 'lists the changes that a consumer failed to process, oldest first.',
    async run({ call, word }) {
      const deadLetters = await readDeadLetters(call, word('name'));
      const rows = deadLetters.map(({ id, change, attempts, lastError }) => [
        id,
        change.type,
        `${attempts} failed`,
        lastError,
      ]);
      return { json: { deadLetters }, text: table(rows, 'no dead letters') };
    },
  },
  'replay-dead-letters': {
    words: '<name>',
    summary: 'hands all of them to the consumer again, oldest first.',
    async run({ call, word }) {
      const deadLetters = await readDeadLetters(call, word('name'));
      for (const { id } of deadLetters) await call('replayDeadLetter', { params: { id } });
      const text = `${count(deadLetters.length, 'dead letter')} handed over again.`;
      return { json: { deadLetters }, text };
    },
  },
  'rotate-secret': {
    words: '<name>',
    summary: 'replaces the secret of a consumer of kind http, and prints it once.',
    options: {
      compromised: {
        type: 'boolean',
        description: 'somebody else knows the old secret: sign nothing with it any more',
      },
    },
    async run({ call, word, options }) {
      const body = { compromised: options['compromised'] === true };
      const json = await call('rotateConsumerSecret', { params: { id: word('name') }, body });
      const until = json.previousSecretUntil;
      const note =
        until === null
          ? 'The old secret signs nothing any more.'
          : `The old secret signs as well until ${until}.`;
      return { json, text: [...secretLines(json.secret), note].join('\n') };
    },
  },
  delete: {
    words: '<name>',
    summary: 'deletes a consumer with its dead letters; the changes stay in the feed.',
    async run({ call, word }) {
      const json = await call('deleteConsumer', { params: { id: word('name') } });
      return { json, text: `Deleted ${word('name')}.` };
    },
  },
};

/** The dead letters of a consumer, oldest first: the order in which to replay them. */
async function readDeadLetters(call: CallConnector, consumer: string): Promise<readonly DeadLetter[]> {
  await call('getConsumer', { params: { id: consumer } });
  const found: DeadLetter[] = [];
  for (let cursor: string | undefined; ; ) {
    const page = await call('listDeadLetters', { query: { consumer, limit: 1_000, cursor } });
    found.push(...page.deadLetters);
    if (!page.hasMore) return found.reverse();
    cursor = page.nextCursor ?? undefined;
  }
}

/** A subcommand that is answered with the consumer. */
function onOne(
  send: (
    call: CallConnector,
    params: { readonly id: string },
    given: Parameters<ConsumerSubcommand['run']>[0],
  ) => Promise<Consumer>,
): ConsumerSubcommand['run'] {
  return async (given) => {
    const json = await send(given.call, { id: given.word('name') }, given);
    return { json, text: describe(json) };
  };
}

function readKind(options: CommandOptions): 'http' | 'bullmq' {
  const [url, queue] = [readText(options, 'url'), readText(options, 'queue')];
  if (url !== undefined && queue === undefined) return 'http';
  if (queue !== undefined && url === undefined) return 'bullmq';
  throw new UsageError('Pass either --url (kind http) or --queue (kind bullmq). See --help.');
}

/** The fields of a body that the options give, except its filter. */
function readSettings(options: CommandOptions): object {
  const text = (name: string): string | undefined => readText(options, name);
  const number = (name: string): number | undefined => readNumber(options[name], `--${name}`);
  // The address of a Redis contains its password, which must not be in a command line.
  const redisUrlFile = text('redis-url-file');
  return givenFields({
    url: text('url'),
    ordered: readYes(text('ordered')),
    queue: text('queue'),
    prefix: text('prefix'),
    redisUrl: redisUrlFile === undefined ? undefined : readGivenFile(redisUrlFile, '--redis-url-file').trim(),
    batch: number('batch'),
    concurrency: number('concurrency'),
    attempts: number('attempts'),
    deadlineMs: number('deadline-ms'),
    historic: text('historic'),
    placeChanges: number('place-changes'),
    placeMs: number('place-ms'),
  });
}

/** The filter that the options give, with the other lists of the present one; undefined if they give none. */
async function readFilter(
  options: CommandOptions,
  readPresent: () => Promise<ConsumerFilter> = () => Promise.resolve({}),
): Promise<object | undefined> {
  const list = (name: string): readonly string[] | undefined =>
    readText(options, name)
      ?.split(',')
      .map((each) => each.trim());
  const given = givenFields({
    types: list('types'),
    directions: list('directions'),
    connectionIds: list('connections'),
  });
  if (Object.keys(given).length === 0) return undefined;
  const lists = Object.entries({ ...(await readPresent()), ...given });
  return Object.fromEntries(lists.filter(([, only]) => only.join() !== 'all'));
}

function readYes(text: string | undefined): boolean | undefined {
  if (text === undefined) return undefined;
  if (text === 'yes' || text === 'no') return text === 'yes';
  throw new UsageError(`--ordered must be yes or no, not "${text}".`);
}

function readPosition(text: string): string | number {
  return /^\d+$/.test(text) ? Number(text) : text;
}

function describeShortly({
  name,
  kind,
  state,
  unavailable,
  lag,
  parked,
  deadLetters,
}: Consumer): readonly string[] {
  const shown = unavailable === null ? state : 'unavailable';
  return [name, kind, shown, describeLag(lag), `${parked.count} parked`, count(deadLetters, 'dead letter')];
}

function describeLag({ changes, seconds }: Consumer['lag']): string {
  return changes === 0 ? 'up to date' : `${count(changes, 'change')} behind, ${Math.round(seconds)} s`;
}

function describe(consumer: Consumer): string {
  const {
    name,
    kind,
    state,
    disabledReason,
    unavailable,
    filter,
    lag,
    parked,
    deadLetters,
    createdAt,
    ...settings
  } = consumer;
  const facts: (readonly [string, string])[] = [
    ['name', name],
    ['kind', kind],
    ['state', disabledReason === null ? state : `${state}: ${disabledReason}`],
    ...(unavailable === null
      ? []
      : [['unavailable', `since ${unavailable.since}: ${unavailable.lastError}`] as const]),
    ['behind', describeLag(lag)],
    ['parked', String(parked.count)],
    ['dead', count(deadLetters, 'dead letter')],
    ['filter', Object.keys(filter).length === 0 ? 'all changes' : JSON.stringify(filter)],
    ...Object.entries(settings).map(([key, value]) => [key, String(value ?? 'none')] as const),
    ['created', createdAt],
  ];
  const rows = parked.first.map(({ connectionId, attempts, nextAttemptAt, lastError }) => [
    '  parked',
    connectionId,
    `${attempts} failed`,
    `next ${nextAttemptAt}`,
    lastError,
  ]);
  return [table(facts, ''), ...(rows.length === 0 ? [] : [table(rows, '')])].join('\n');
}

function secretLines(secret: string | null): string[] {
  return secret === null ? [] : ['', `secret  ${secret}`, 'Store it now: it is not shown again.'];
}
