import type { Clock } from '../../runtime/clock/clock.ts';
import type { NamedHosts } from '../../runtime/public-network/is-named-host.ts';
import type { KeyRing } from '../../runtime/sealing/key-ring.ts';
import type { BullmqSettings, HttpSettings } from '../db/consumer-tables.ts';
import { consumerRedisContext, consumerSecretContext } from '../db/sealed-columns.ts';
import type { ConsumerRow } from './consumer-store.ts';
import { type ChangeHandlers, createHandlerSink } from './sinks/handler.ts';
import { openHttpSink } from './sinks/http-sink.ts';
import type { Sink } from './sinks/sink.ts';

/** What sinks of this process can use. */
export interface SinkContext {
  /** Undefined: this process calls no handler. */
  readonly handlers: ChangeHandlers | undefined;
  readonly clock: Clock;
  readonly keyRing: KeyRing;
  /** Hosts of HTTP consumers that may be anywhere; null if none. */
  readonly serviceHosts: NamedHosts | null;
  /** The Redis of this connector, for queues without one of their own. */
  readonly redisUrl: string | undefined;
}

/** The sink of a consumer; null if this process cannot call it. May throw; it is tried again at the next check. */
export async function openSink(row: ConsumerRow, context: SinkContext): Promise<Sink | null> {
  switch (row.kind) {
    case 'handler':
      return context.handlers === undefined ? null : createHandlerSink(context.handlers);
    case 'http':
      return await openHttp(row, context);
    case 'bullmq':
      return await openBullmq(row, context);
  }
}

async function openHttp(row: ConsumerRow, { keyRing, clock, serviceHosts }: SinkContext): Promise<Sink> {
  const { sealedSecret, sealedPreviousSecret, previousUntil, concurrency, deadlineMs } = row;
  if (sealedSecret === null) throw new TypeError('an http consumer has a secret');
  const open = (sealed: string): Promise<string> => keyRing.open(sealed, consumerSecretContext(row.name));
  const previous =
    sealedPreviousSecret === null || previousUntil === null
      ? undefined
      : { secret: await open(sealedPreviousSecret), until: previousUntil };
  return openHttpSink({
    url: (row.settings as HttpSettings).url,
    secret: await open(sealedSecret),
    previous,
    batched: row.batch > 1,
    concurrency,
    deadlineMs,
    clock,
    namedHosts: serviceHosts,
  });
}

async function openBullmq(row: ConsumerRow, { keyRing, redisUrl }: SinkContext): Promise<Sink> {
  const { name, sealedRedisUrl, attempts } = row;
  const { queue, prefix } = row.settings as BullmqSettings;
  const own =
    sealedRedisUrl === null ? redisUrl : await keyRing.open(sealedRedisUrl, consumerRedisContext(name));
  if (own === undefined) throw new TypeError('neither the consumer nor the connector has a Redis');
  const { openBullmqSink } = await import('./sinks/bullmq-sink.ts');
  return openBullmqSink({ redisUrl: own, queue, prefix, attempts });
}
