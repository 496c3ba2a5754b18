import { z } from 'zod';
import { dateTime, identifier } from '../service/fields.ts';
import { CHANGE_TYPES } from './changes.ts';
import { connectionId, listOf, pageQuery } from './lists.ts';

/** The consumer of the handlers that a process has loaded. */
export const HANDLER_CONSUMER = 'handler';

export const CONSUMER_STATES = ['running', 'paused', 'disabled'] as const;
export type ConsumerState = (typeof CONSUMER_STATES)[number];

/** What a consumer receives of historic messages. */
export const HISTORY_MODES = ['skip', 'quiet', 'all'] as const;
export type HistoryMode = (typeof HISTORY_MODES)[number];

/** How long requests also carry a signature with a replaced secret. */
export const CONSUMER_SECRET_OVERLAP_MS = 24 * 60 * 60_000;

const name = z
  .string()
  .regex(
    /^[a-z][a-z0-9-]{0,30}$/,
    'must start with a letter and contain at most 31 lower-case letters, digits and hyphens',
  )
  .describe('Name of the consumer. It cannot be changed, because the keys of its changes end with it.');

/** The changes that a consumer receives. */
export const consumerFilter = z
  .strictObject({
    types: z
      .array(z.enum(CHANGE_TYPES))
      .min(1)
      .optional()
      .describe(`Only changes of these types: ${CHANGE_TYPES.map((type) => `\`${type}\``).join(', ')}.`),
    directions: z
      .array(z.enum(['incoming', 'outgoing']))
      .min(1)
      .optional()
      .describe(
        'Only messages of these directions: `incoming`, `outgoing`. Changes without a direction pass.',
      ),
    connectionIds: z
      .array(connectionId)
      .min(1)
      .max(1_000)
      .optional()
      .describe('Only changes of these connections.'),
  })
  .describe(
    'The changes that the consumer receives: those that pass all fields. An absent field passes all.',
  );

export type ConsumerFilter = z.infer<typeof consumerFilter>;

/** What can be set for every kind. */
const common = {
  filter: consumerFilter,
  batch: z
    .int()
    .min(1)
    .max(100)
    .describe('Maximum number of changes of one call; all are of one connection, in order.'),
  concurrency: z
    .int()
    .min(1)
    .max(1_000)
    .describe('Maximum number of connections that each process works on at the same time.'),
  placeChanges: z
    .int()
    .min(1)
    .max(5_000)
    .describe(
      'The place of a partition is stored after as many changes. So many may be repeated after a process died.',
    ),
  placeMs: z
    .int()
    .min(10)
    .max(10_000)
    .describe('The place of a partition is stored at least every so many milliseconds while it moves.'),
};

/** What the module of the handlers sets for the kind `handler`, in each process. */
const calls = {
  attempts: z.int().min(1).max(100).describe('Calls of a change before it becomes a dead letter.'),
  deadlineMs: z.int().min(100).max(3_600_000).describe('Longest call, in milliseconds.'),
  historic: z
    .enum(HISTORY_MODES)
    .describe(
      'Changes of historic messages. `skip`: it receives none. `quiet`: it receives them in order, but only while no other change can be delivered. `all`: it receives them like any other change.',
    ),
};

/** What the module of the handlers may set. */
export const handlerChoices = z.object(calls).partial();

const ofHttp = {
  url: z
    .url({ protocol: /^https?$/ })
    .max(2048)
    .regex(/^[^@#]*$/, 'must not contain credentials or a fragment')
    .describe(
      'Receives a signed POST with each change or batch. It must use https and have a public address, except on this machine if the service is on this machine as well.',
    ),
  ordered: z
    .boolean()
    .describe(
      'Whether a change that fails holds back the later changes of its connection. If false, the connection goes on, and the failed change is retried by itself.',
    ),
};

const ofBullmq = {
  queue: z
    .string()
    .min(1)
    .max(200)
    .regex(/^[^:]+$/, 'must not contain a colon')
    .describe('The BullMQ queue that receives each change as a job.'),
  prefix: z.string().min(1).max(200).describe('Prefix of the keys of BullMQ in Redis.'),
};

const redisUrl = z
  .string()
  .max(2048)
  .regex(/^rediss?:\/\/\S+$/, 'must start with redis:// or rediss://')
  .describe('Address of the Redis of the queue. It is encrypted at rest, and never returned.');

const POSITIONS = 'must be `now`, `beginning`, the `seq` of a change, or an ISO 8601 time with an offset';

/** Where a consumer begins, or begins again. */
export const consumerPosition = z
  .union([z.enum(['now', 'beginning']), z.int().min(1), z.iso.datetime({ offset: true, error: POSITIONS })], {
    error: POSITIONS,
  })
  .describe(
    '`now`: only future changes. `beginning`: all changes of the feed. A number: the first `seq` to deliver. A time: changes since then, and up to a minute before, because the clocks of processes differ.',
  );
export type ConsumerPosition = z.infer<typeof consumerPosition>;

const parkedConnection = z.object({
  connectionId: identifier.describe('The connection.'),
  seq: z.int().describe('The change that it waits with.'),
  attempts: z
    .int()
    .min(0)
    .describe('How many calls of this change failed. 0: the connection is only behind.'),
  nextAttemptAt: dateTime.describe('When the change is due again.'),
  lastError: z.string().nullable().describe('Why the last call failed; null if none did.'),
  since: dateTime.describe('Since when the connection is parked.'),
});

/** Maximum number of parked connections that a consumer lists. */
export const LISTED_PARKED = 5;

const state = {
  name,
  state: z
    .enum(CONSUMER_STATES)
    .describe(
      '`running`: receives changes. `paused`: by an operator. `disabled`: its receiver answered 410. `POST /v1/consumers/{id}/resume` continues where it stopped.',
    ),
  disabledReason: z.string().nullable().describe('Why it is `disabled`; null in any other state.'),
  unavailable: z
    .object({
      since: dateTime.describe('Since when.'),
      lastError: z.string().describe('Why the last try failed, without quoted texts.'),
    })
    .nullable()
    .describe(
      'Calls find it away as a whole, so its changes wait and none loses an attempt; null if not, or if it is not `running`.',
    ),
  ...common,
};

const progress = {
  lag: z
    .object({
      changes: z
        .int()
        .min(0)
        .describe(
          'How many changes wait, those of parked connections included. Up to `placeMs` of them may be delivered already, and changes that the filter drops are included until they are passed.',
        ),
      seconds: z.number().min(0).describe('Age of the oldest of them; 0 if there is none.'),
    })
    .describe('How far it is behind the feed.'),
  parked: z
    .object({
      count: z.int().min(0).describe('How many connections are parked.'),
      first: z
        .array(parkedConnection)
        .describe(`Those with the most failed calls, at most ${LISTED_PARKED}.`),
    })
    .describe(
      'Connections whose next change failed, or that are far behind. They hold back neither the place nor other connections.',
    ),
  deadLetters: z
    .int()
    .min(0)
    .describe('Changes that failed in all attempts, as in `GET /v1/dead-letters?consumer=`.'),
  createdAt: dateTime.describe('When the consumer was created.'),
};

/** A consumer of the feed, with its progress. */
export const consumer = z.discriminatedUnion('kind', [
  z.object({
    ...state,
    kind: z.literal('handler').describe('The function of the CRM that a process has loaded.'),
    ...progress,
  }),
  z.object({
    ...state,
    kind: z.literal('http').describe('An HTTPS address that receives signed requests.'),
    ...calls,
    ...ofHttp,
    previousSecretUntil: dateTime
      .nullable()
      .describe('Until then, requests carry a signature with the replaced secret as well; null if not.'),
    ...progress,
  }),
  z.object({
    ...state,
    kind: z.literal('bullmq').describe('A queue of BullMQ, whose workers belong to the CRM.'),
    ...calls,
    ...ofBullmq,
    ownRedis: z
      .boolean()
      .describe("Whether it has a Redis of its own; otherwise it uses the connector's `REDIS_URL`."),
    ...progress,
  }),
]);
export type Consumer = z.infer<typeof consumer>;
export type ConsumerKind = Consumer['kind'];

/** Query of `GET /v1/consumers`. */
export const listConsumersQuery = z.strictObject(pageQuery);

export const consumerList = listOf('consumers', consumer);
export type ConsumerList = z.infer<typeof consumerList>;

const absent = (value: string): string => `If absent: ${value}.`;

/** In a body, absent settings have a default, or stay as they are. */
const optionalCommon = z.object({ ...common, ...calls }).partial().shape;

const from = consumerPosition.optional().describe(`${consumerPosition.description} ${absent('`now`')}`);

/** Body of `POST /v1/consumers`. */
export const createConsumerRequest = z.discriminatedUnion('kind', [
  z.strictObject({
    name,
    kind: z.literal('http').describe('An HTTPS address that receives signed requests.'),
    url: ofHttp.url,
    ordered: ofHttp.ordered.optional().describe(`${ofHttp.ordered.description} ${absent('true')}`),
    ...optionalCommon,
    from,
  }),
  z.strictObject({
    name,
    kind: z.literal('bullmq').describe('A queue of BullMQ, whose workers belong to the CRM.'),
    queue: ofBullmq.queue,
    prefix: ofBullmq.prefix.optional().describe(`${ofBullmq.prefix.description} ${absent('`bull`')}`),
    redisUrl: redisUrl
      .optional()
      .describe(`${redisUrl.description} ${absent("the connector's `REDIS_URL`")}`),
    ...optionalCommon,
    from,
  }),
]);
export type CreateConsumerRequest = z.infer<typeof createConsumerRequest>;

/** Response of `POST /v1/consumers`. */
export const createdConsumer = z.object({
  consumer: consumer.describe('The consumer.'),
  secret: z
    .string()
    .nullable()
    .describe(
      'Signs the requests of an `http` consumer: `whsec_` and base64. It is shown only once. Null for other kinds.',
    ),
});
export type CreatedConsumer = z.infer<typeof createdConsumer>;

/** Body of `PATCH /v1/consumers/{id}`. Absent fields stay as they are. */
export const changeConsumerRequest = z.strictObject({
  ...optionalCommon,
  ...z.object(ofHttp).partial().shape,
  ...z.object(ofBullmq).partial().shape,
  redisUrl: redisUrl
    .nullable()
    .optional()
    .describe(`${redisUrl.description} Null: the connector's \`REDIS_URL\`.`),
});
export type ChangeConsumerRequest = z.infer<typeof changeConsumerRequest>;

/** Body of `POST /v1/consumers/{id}/replay`. */
export const replayConsumerRequest = z.strictObject({ from: consumerPosition });
export type ReplayConsumerRequest = z.infer<typeof replayConsumerRequest>;

/** Body of `POST /v1/consumers/{id}/rotate-secret`. */
export const rotateConsumerSecretRequest = z.strictObject({
  compromised: z
    .boolean()
    .optional()
    .describe(
      'True if somebody else knows the old secret: nothing is signed with it any more. If absent or false, requests carry both signatures for 24 hours.',
    ),
});

/** Response of `POST /v1/consumers/{id}/rotate-secret`. */
export const rotatedConsumerSecret = z.object({
  secret: z.string().describe('The new secret: `whsec_` and base64. It is shown only once.'),
  previousSecretUntil: dateTime
    .nullable()
    .describe('Until then, requests carry a signature with the old secret as well; null if not.'),
});
export type RotatedConsumerSecret = z.infer<typeof rotatedConsumerSecret>;
