import {
  type ReadConnectionListItem,
  readConnectionList,
  readWebhook,
} from '../../contract/service/read-answers.ts';
import type { Clock } from '../../runtime/clock/clock.ts';
import {
  createServiceCaller,
  readBody,
  type ServiceAnswer,
  type ServiceCall,
} from '../service-client/call-service.ts';
import { ServiceAnswerUnreadable, ServiceError, ServiceRefusal } from '../service-client/service-errors.ts';

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
      /** How far the service's clock is ahead, accurate to half a second and half of `ms`; null without a `Date`. */
      readonly aheadMs: number | null;
    }
  | { readonly ok: false; readonly error: ServiceError };

/** Calls that change nothing at the service. Each is made once, even if several checks need it. */
export interface ServiceCalls {
  /** `GET /connections`: `messaging.read`. */
  connections(): Promise<Asked<readonly ReadConnectionListItem[]>>;
  /** `GET /webhook`: `messaging.events`. */
  webhook(): Promise<Asked<ReturnType<typeof readWebhook>>>;
  /**
   * `GET /connections/{id}` of an unknown id: `messaging.manage`. True unless the scope is refused, null if
   * unknown.
   */
  mayManage(): Promise<boolean | null>;
  /** `POST /messages/read` for an unknown connection, which has no effect: `messaging.send`. */
  maySend(): Promise<boolean | null>;
}

/** Creates the calls for one credential. */
export function createServiceCalls(options: {
  readonly baseUrl: string;
  readonly apiKey: string;
  readonly clock: Clock;
}): ServiceCalls {
  const { baseUrl, apiKey, clock } = options;
  const call = createServiceCaller({ baseUrl, token: () => apiKey, clock });

  async function ask<T>(
    request: Pick<ServiceCall, 'method' | 'path' | 'body'>,
    read: (body: unknown) => T,
  ): Promise<Asked<T>> {
    const begun = clock.elapsed();
    try {
      const answer = await call({ ...request, deadlineMs: DEADLINE_MS });
      const ms = clock.elapsed() - begun;
      return { ok: true, value: read(readBody(answer)), ms, aheadMs: aheadBy(answer, clock.now() - ms / 2) };
    } catch (error) {
      if (error instanceof ServiceError) return { ok: false, error };
      // A body that is not validated.
      return { ok: false, error: new ServiceAnswerUnreadable('its body has another shape') };
    }
  }

  async function hasScope(request: Pick<ServiceCall, 'method' | 'path' | 'body'>): Promise<boolean | null> {
    const asked = await ask(request, () => undefined);
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
    connections: once(() =>
      ask({ method: 'get', path: 'connections' }, (body) => readConnectionList(body).items),
    ),
    webhook: once(() => ask({ method: 'get', path: 'webhook' }, readWebhook)),
    mayManage: once(() => hasScope({ method: 'get', path: `connections/${NO_CONNECTION}` })),
    maySend: once(() => hasScope({ method: 'post', path: 'messages/read', body: {} })),
  };
}

/** `Date` is truncated to the second: half a second is the best estimate for the rest. */
function aheadBy({ date }: ServiceAnswer, ours: number): number | null {
  return date === null ? null : date + 500 - ours;
}
