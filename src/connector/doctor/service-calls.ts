import type { Clock } from '../../runtime/clock/clock.ts';
import { abortAfter } from '../../runtime/clock/deadline.ts';
import { createServiceClient } from '../service-client/service-client.ts';
import { ServiceError, ServiceRefusal } from '../service-client/service-errors.ts';

const DEADLINE_MS = 8_000;
/** An id that no connection has: a caller with the scope receives `not_found`. */
const NO_CONNECTION = 'doctor-asks-for-none';

/** Result of a call: its response, or the error that the client throws. */
export type Asked<T> =
  | {
      readonly ok: true;
      readonly value: T;
      /** How long it took, in milliseconds. */
      readonly ms: number;
      /** The middle of the call on our clock, epoch ms. */
      readonly at: number;
    }
  | { readonly ok: false; readonly error: ServiceError };

export type ServiceCalls = ReturnType<typeof createServiceCalls>;

/**
 * Calls that change nothing at the service, with one credential. Each is made once, even if several checks need it.
 */
export function createServiceCalls(options: {
  readonly baseUrl: string;
  readonly apiKey: string;
  readonly clock: Clock;
}) {
  const { baseUrl, apiKey, clock } = options;
  const client = createServiceClient({ baseUrl, token: () => apiKey, clock });

  async function ask<T>(call: (signal: AbortSignal) => Promise<T>): Promise<Asked<T>> {
    const begun = clock.elapsed();
    try {
      const value = await abortAfter(clock, DEADLINE_MS, call);
      const ms = clock.elapsed() - begun;
      return { ok: true, value, ms, at: clock.now() - ms / 2 };
    } catch (error) {
      if (error instanceof ServiceError) return { ok: false, error };
      throw error;
    }
  }

  async function hasScope(call: (signal: AbortSignal) => Promise<unknown>): Promise<boolean | null> {
    const asked = await ask(call);
    if (asked.ok) return true;
    if (!(asked.error instanceof ServiceRefusal)) return null;
    if (asked.error.code === 'insufficient_scope') return false;
    return asked.error.status === 400 || asked.error.status === 404 ? true : null;
  }

  const once = <T>(work: () => Promise<T>): (() => Promise<T>) => {
    let made: Promise<T> | undefined;
    return () => (made ??= work());
  };

  return {
    /** `GET /connections`: `messaging.read`. */
    connections: once(() => ask(client.listConnections)),
    /** `GET /webhook`: `messaging.events`. */
    webhook: once(() => ask(client.getWebhook)),
    /** `GET /connections/{id}`: `messaging.manage`. True unless the scope is refused, null if unknown. */
    mayManage: once(() => hasScope((signal) => client.getConnection(NO_CONNECTION, signal))),
    /** `POST /messages/read` for an unknown connection, which has no effect: `messaging.send`. */
    maySend: once(() => hasScope((signal) => client.markRead({ connectionId: NO_CONNECTION }, signal))),
  };
}
