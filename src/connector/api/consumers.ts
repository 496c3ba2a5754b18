import type { Consumer, CreateConsumerRequest } from '../../contract/connector/consumers.ts';
import { HANDLER_CONSUMER } from '../../contract/connector/consumers.ts';
import { givenFields } from '../../contract/schema/given-fields.ts';
import { toIso, toIsoOrNull } from '../../runtime/clock/iso-time.ts';
import { ConfigurationError } from '../../runtime/config/configuration-error.ts';
import { findNetwork } from '../../runtime/public-network/check-host.ts';
import { lookupHost, lookupWithin } from '../../runtime/public-network/host-lookup.ts';
import { isNamedHost } from '../../runtime/public-network/is-named-host.ts';
import { addConsumer } from '../consumers/consumer-store.ts';
import {
  type ConsumerChange,
  changeConsumer,
  deleteConsumer,
  findPlace,
  generateConsumerSecret,
  pauseConsumer,
  replayConsumer,
  resumeConsumer,
  rotateSecret,
  sealConsumer,
} from '../consumers/manage-consumers.ts';
import type { BullmqSettings, HttpSettings } from '../db/consumer-tables.ts';
import { type ConsumerState, readConsumerStates } from '../state/consumer-progress.ts';
import { oldestWaitMs } from '../state/figures.ts';
import { ApiError, invalid, notFound } from './api-error.ts';
import { CONSUMER_KEY, cutPage, decodeCursor } from './cursors.ts';
import type { ApiParts, Operation, Operations } from './operations.ts';

const LOOKUP_WITHIN_MS = 5_000;
const DEFAULT_PREFIX = 'bull';

/** The operations of consumers. Processes are notified of each change, and take it up. */
export function operateConsumers(options: ApiParts) {
  const { database, clock, keyRing } = options;

  /** The consumer after a change that every process must know. */
  async function changed(name: string): Promise<Consumer> {
    options.consumers.notify(name);
    return await find(name);
  }

  async function find(name: string): Promise<Consumer> {
    const [found] = await readConsumerStates(database, { name });
    if (found === undefined) throw notFound('consumer');
    return present(found, clock.now());
  }

  async function placeOf(from: Parameters<typeof findPlace>[1]): Promise<number> {
    const { lastSeq, deletedSeq } = await options.feed.position();
    const place = await findPlace(database, from, lastSeq);
    if (place === null) throw invalid('from', `is beyond the newest change, whose number is ${lastSeq}`);
    if (typeof from === 'number' && place < deletedSeq)
      throw invalid('from', `is below the oldest change that is kept, whose number is ${deletedSeq + 1}`);
    return place;
  }

  const list: Operation<'listConsumers'> = async ({ query }) => {
    const [after] = decodeCursor(CONSUMER_KEY, query.cursor) ?? [null];
    const rows = await readConsumerStates(database, { after, limit: query.limit + 1 });
    const { page, nextCursor, hasMore } = cutPage(rows, query.limit, ({ name }) => [name]);
    return { consumers: page.map((row) => present(row, clock.now())), nextCursor, hasMore };
  };

  const create: Operation<'createConsumer'> = async ({ body }) => {
    const { name } = body;
    if (name === HANDLER_CONSUMER) {
      const reason = 'a process creates it when it loads handlers';
      throw new ApiError('consumer_is_handler', `name: \`${name}\` is the consumer of handlers; ${reason}.`);
    }
    if (body.kind === 'http') await checkUrl(options, body.url);
    else await checkRedis(options, body.redisUrl);
    const place = await placeOf(body.from ?? 'now');
    const secret = body.kind === 'http' ? generateConsumerSecret() : undefined;
    const redisUrl = body.kind === 'bullmq' ? body.redisUrl : undefined;
    const sealed = await sealConsumer(keyRing, name, { secret, redisUrl });
    const row = { name, ...rowOf(body), ...sealed, createdAt: clock.now() };
    if (!(await addConsumer(database, row, place)))
      throw new ApiError('consumer_exists', `name: there is already a consumer \`${name}\`.`);
    return { consumer: await changed(name), secret: secret ?? null };
  };

  const change: Operation<'changeConsumer'> = async ({ id, body }) => {
    const { kind } = await find(id);
    const { url, ordered, queue, prefix, redisUrl, ...columns } = body;
    const settings = givenFields(
      kind === 'http' ? { url, ordered } : kind === 'bullmq' ? { queue, prefix } : {},
    );
    const allowed = [...Object.keys(settings), ...(kind === 'bullmq' ? ['redisUrl'] : [])];
    const foreign = Object.keys(givenFields({ url, ordered, queue, prefix, redisUrl }));
    const [odd] = foreign.filter((field) => !allowed.includes(field));
    if (odd !== undefined) throw invalid(odd, `a consumer of kind ${kind} does not have this field`);
    const [ofModule] =
      kind === 'handler'
        ? (['attempts', 'deadlineMs', 'historic'] as const).filter((key) => key in body)
        : [];
    if (ofModule !== undefined)
      throw invalid(ofModule, 'is set by the module of the handlers; change it there');
    if (url !== undefined) await checkUrl(options, url);
    if (redisUrl !== undefined) await checkRedis(options, redisUrl ?? undefined);
    const update: ConsumerChange = { ...givenFields(columns), settings, redisUrl };
    if (!(await changeConsumer(database, id, update, keyRing))) throw notFound('consumer');
    return await changed(id);
  };

  return {
    listConsumers: list,
    createConsumer: create,
    getConsumer: ({ id }) => find(id),
    changeConsumer: change,
    async deleteConsumer({ id }) {
      const end = await deleteConsumer(database, id);
      if (end === 'in_use') {
        const reason = 'Processes have handlers, and would create it again and skip changes';
        const advice = 'Start all of them without CONNECTOR_HANDLERS first, or pause it instead.';
        throw new ApiError('consumer_is_handler', `${reason}. ${advice}`);
      }
      if (end === 'unknown') throw notFound('consumer');
      options.consumers.notify(id);
      return { ok: true };
    },
    async pauseConsumer({ id }) {
      await pauseConsumer(database, id);
      return await changed(id);
    },
    async resumeConsumer({ id }) {
      await resumeConsumer(database, id);
      return await changed(id);
    },
    async replayConsumer({ id, body: { from } }) {
      const place = await placeOf(from);
      if (!(await replayConsumer(database, id, { place, skips: from === 'now' }))) throw notFound('consumer');
      return await changed(id);
    },
    async rotateConsumerSecret({ id, body }) {
      const { kind } = await find(id);
      const rotated = await rotateSecret(options, id, body?.compromised ?? false);
      if (rotated === null)
        throw new ApiError('no_secret', `A consumer of kind ${kind} has no secret to rotate.`);
      options.consumers.notify(id);
      return { secret: rotated.secret, previousSecretUntil: toIsoOrNull(rotated.previousUntil) };
    },
  } satisfies Operations;
}

/** The columns of a body; absent ones keep their default. */
function rowOf(body: CreateConsumerRequest) {
  const { filter, batch, concurrency, attempts, deadlineMs, historic, placeChanges, placeMs } = body;
  const settings: HttpSettings | BullmqSettings =
    body.kind === 'http'
      ? { url: body.url, ordered: body.ordered ?? true }
      : { queue: body.queue, prefix: body.prefix ?? DEFAULT_PREFIX };
  const calls = { filter, batch, concurrency, attempts, deadlineMs, historic, placeChanges, placeMs };
  return { kind: body.kind, settings, ...givenFields(calls) };
}

/** The address must be public and use https; a host of the settings may be anywhere, as for the service. */
async function checkUrl({ serviceHosts, clock }: ApiParts, address: string): Promise<void> {
  if (isNamedHost(address, serviceHosts ?? { own: undefined })) return;
  const url = new URL(address);
  if (url.protocol !== 'https:') throw invalid('url', 'must start with https://');
  const host = url.hostname.replace(/^\[|\]$|\.$/g, '');
  const found = await findNetwork(host, lookupWithin(lookupHost, clock, LOOKUP_WITHIN_MS)).catch(() => null);
  // Whether a name resolves at all says something about the network of this machine.
  if (found !== 'public') throw invalid('url', 'its host must have a public address, and only public ones');
}

/** A queue in a Redis that nobody reaches, or that may drop jobs, would lose changes or deliver none. */
async function checkRedis(
  { redisUrl: own, clock, logger }: ApiParts,
  address: string | undefined,
): Promise<void> {
  const redisUrl = address ?? own;
  if (redisUrl === undefined)
    throw invalid('redisUrl', 'is missing, and REDIS_URL of the connector is not set; pass an address');
  const { inspectRedis } = await import('../../runtime/notifier/inspect-redis.ts');
  const redis = await inspectRedis(redisUrl, clock).catch((error: unknown) => {
    if (error instanceof ConfigurationError)
      throw invalid('redisUrl', 'must be an address such as redis://user:password@host:6379');
    throw error;
  });
  if (redis.kind === 'unreachable') {
    logger.warn({ err: redis.error }, 'the Redis of a consumer does not answer');
    const which = address === undefined ? 'REDIS_URL of the connector' : 'redisUrl';
    throw new ApiError(
      'redis_unreachable',
      `${which}: Redis at ${redis.hosts} does not answer; see the log.`,
    );
  }
  if (redis.servers.some(({ isReplica }) => isReplica))
    throw invalid(
      'redisUrl',
      'its Redis is a replica, which takes no jobs; let the address lead to the primary',
    );
  const evicting = redis.servers.find(({ policy }) => policy !== 'noeviction');
  if (evicting !== undefined) {
    const problem = `its maxmemory-policy is ${evicting.policy}, so it may evict jobs; set it to noeviction`;
    throw invalid('redisUrl', problem);
  }
}

function present(row: ConsumerState, now: number): Consumer {
  const { kind, attempts, deadlineMs, historic, settings, previousUntil, ownRedis, ...shown } = row;
  const { waiting, oldestAt, parked, listed, createdAt, unavailableSince, unavailableReason, ...rest } =
    shown;
  const isAway = row.state === 'running' && unavailableSince !== null;
  const calls = { attempts, deadlineMs, historic };
  const common = {
    ...rest,
    unavailable: isAway ? { since: toIso(unavailableSince), lastError: unavailableReason ?? '' } : null,
    lag: { changes: waiting, seconds: oldestWaitMs({ oldestAt }, now) / 1_000 },
    parked: {
      count: parked,
      first: listed.map(({ dueAt, since, ...connection }) => ({
        ...connection,
        nextAttemptAt: toIso(dueAt),
        since: toIso(since),
      })),
    },
    createdAt: toIso(createdAt),
  };
  // The settings are those of its kind: `rowOf` makes them, and a change only takes fields of the kind.
  switch (kind) {
    case 'handler':
      return { ...common, kind: 'handler' };
    case 'http': {
      const previousSecretUntil = previousUntil !== null && previousUntil > now ? toIso(previousUntil) : null;
      return { ...common, ...calls, kind: 'http', ...(settings as HttpSettings), previousSecretUntil };
    }
    case 'bullmq':
      return { ...common, ...calls, kind: 'bullmq', ...(settings as BullmqSettings), ownRedis };
  }
}
