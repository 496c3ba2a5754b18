import { and, eq, gt } from 'drizzle-orm';
import { LIMITS } from '../../contract/service/limits.ts';
import type { Queryable } from '../../runtime/database/database.ts';
import { orm } from '../../runtime/database/orm.ts';
import type { Connection } from '../connections/read-connections.ts';
import { messages } from '../db/message-tables.ts';
import { ASSUMPTIONS } from '../kernel/assumptions.ts';
import { PlatformError } from '../kernel/platform-error.ts';
import type { DomainClock } from '../time/domain-clock.ts';

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;

/** The allowance of one send. It counts until it is given back. */
export interface Allowance {
  /** Stops counting a send that failed. */
  giveBack(): void;
}

/** Limits the sends of a connection's number, in virtual time. */
export interface SendAllowances {
  /**
   * Counts a send. Throws `warmup_limited` for a new `qr` number that has reached its hourly cap, and `rate_limited`
   * for a connection that sends faster than a person could. Both errors contain the time to wait.
   */
  take(connection: Connection): Promise<Allowance>;
  /** Resets all counts. */
  clear(): void;
}

interface Options {
  readonly database: Queryable;
  readonly clock: DomainClock;
  /** Sends of one connection per minute that the abuse limiter allows. */
  readonly sendsPerMinute: number;
}

/** A step of a warm-up: the number of sends per hour until the step ends, at a virtual time. */
interface WarmupStep {
  readonly perHour: number;
  readonly endsAt: number;
}

/** The present step of a warm-up that ends at `warmupUntil`; null if it has ended. [service.qr.warmup] */
export function warmupStep(warmupUntil: number | null, now: number): WarmupStep | null {
  // [service.cloud-api.no-warmup]
  if (warmupUntil === null || now >= warmupUntil) return null;
  const began = warmupUntil - LIMITS.warmupMs;
  // [limits.warmup-figures]
  const step = ASSUMPTIONS.warmupCaps.value.find(({ untilMs }) => now < began + untilMs);
  return step === undefined ? null : { perHour: step.perHour, endsAt: began + step.untilMs };
}

/** The times of the sends of the last hour, oldest first. */
class SendTimes {
  readonly #times: number[] = [];

  add(at: number): void {
    this.#times.push(at);
  }

  remove(at: number): void {
    const index = this.#times.lastIndexOf(at);
    if (index !== -1) this.#times.splice(index, 1);
  }

  forgetUntil(time: number): void {
    const keep = this.#times.findIndex((at) => at > time);
    this.#times.splice(0, keep === -1 ? this.#times.length : keep);
  }

  /** The time at which a window of `limit` sends has room again; null if it has room now. */
  roomAt(limit: number, windowMs: number, now: number): number | null {
    const blocking = this.#times.at(-limit);
    if (blocking === undefined || blocking + windowMs <= now) return null;
    return blocking + windowMs;
  }
}

async function readLastHour(db: Queryable, connectionId: string, now: number): Promise<number[]> {
  const { createdAt, direction, position } = messages;
  const rows = await orm(db)
    .select({ createdAt })
    .from(messages)
    .where(
      and(eq(messages.connectionId, connectionId), eq(direction, 'outgoing'), gt(createdAt, now - HOUR_MS)),
    )
    .orderBy(position);
  return rows.map((row) => row.createdAt);
}

/** How far the warm-up of a number is. Times are virtual epoch ms. */
export interface Warmup {
  readonly endsAt: number;
  /** Sends that are allowed in an hour until `stepEndsAt`. */
  readonly perHour: number;
  readonly stepEndsAt: number;
  readonly sentLastHour: number;
}

/** The warm-up of a connection; null if there is none, or it is over. */
export async function readWarmup(
  db: Queryable,
  { id, warmupUntil }: Pick<Connection, 'id' | 'warmupUntil'>,
  now: number,
): Promise<Warmup | null> {
  const step = warmupStep(warmupUntil, now);
  if (step === null || warmupUntil === null) return null;
  const sentLastHour = (await readLastHour(db, id, now)).length;
  return { endsAt: warmupUntil, perHour: step.perHour, stepEndsAt: step.endsAt, sentLastHour };
}

function refuse(
  code: 'warmup_limited' | 'rate_limited',
  limit: number,
  window: string,
  roomAt: number,
  now: number,
): never {
  throw new PlatformError(code, {
    retryAfterSeconds: Math.ceil((roomAt - now) / 1_000),
    why: `${limit} sends in the last ${window}, the next at ${new Date(roomAt).toISOString()}`,
  });
}

/**
 * Implements `429 warmup_limited` and `rate_limited` of sends. Counts are kept in memory. After a restart, those of a
 * number in its warm-up are read from the database; those of the last minute are not.
 */
export function createSendAllowances({ database, clock, sendsPerMinute }: Options): SendAllowances {
  const counted = new Map<string, Promise<SendTimes>>();

  const load = async ({ id, warmupUntil }: Connection, now: number): Promise<SendTimes> => {
    const times = new SendTimes();
    if (warmupStep(warmupUntil, now) === null) return times;
    for (const at of await readLastHour(database, id, now)) times.add(at);
    return times;
  };

  const find = (connection: Connection, now: number): Promise<SendTimes> => {
    // By number, so that deleting a connection and pairing the number again does not reset the counts.
    const key = `${connection.workspaceId} ${connection.phoneNumber}`;
    const known = counted.get(key);
    if (known !== undefined) return known;
    const loading = load(connection, now);
    counted.set(key, loading);
    // After an error, the next send reads them again.
    loading.catch(() => counted.delete(key));
    return loading;
  };

  return {
    async take(connection) {
      const times = await find(connection, clock.now());
      const now = clock.now();
      const step = warmupStep(connection.warmupUntil, now);
      times.forgetUntil(now - (step === null ? MINUTE_MS : HOUR_MS));
      const hourRoomAt = step === null ? null : times.roomAt(step.perHour, HOUR_MS, now);
      // [errors.warmup_limited]
      if (step !== null && hourRoomAt !== null) {
        refuse('warmup_limited', step.perHour, 'hour', Math.min(hourRoomAt, step.endsAt), now);
      }
      const minuteRoomAt = times.roomAt(sendsPerMinute, MINUTE_MS, now);
      // [errors.rate_limited] [limits.abuse]
      if (minuteRoomAt !== null) refuse('rate_limited', sendsPerMinute, 'minute', minuteRoomAt, now);
      times.add(now);
      return { giveBack: () => times.remove(now) };
    },

    clear() {
      counted.clear();
    },
  };
}
