import { z } from 'zod';
import { readSecret, readWebhook } from '../../contract/service/read-answers.ts';
import type { Clock } from '../../runtime/clock/clock.ts';
import { createServiceCaller, type ServiceCall } from './call-service.ts';
import { type PolledConnections, type PolledPage, readPolledConnections, readPolledPage } from './polled.ts';
import { ServiceAnswerUnreadable } from './service-errors.ts';

const READ_DEADLINE_MS = 20_000;
const WRITE_DEADLINE_MS = 15_000;

export interface MessageQuery {
  readonly connectionId?: string | undefined;
  readonly cursor?: string | null | undefined;
  readonly limit: number;
}

export interface WebhookRegistration {
  readonly url: string | null;
  readonly secretSet: boolean;
}

/** A signing secret that the service has just issued. It is void for every earlier holder. */
export interface IssuedSecret {
  readonly secret: string;
  /** The `Date` of the answer in epoch milliseconds, whole seconds; null when the answer carried none. */
  readonly issuedAt: number | null;
}

/**
 * The calls of the service that the connector makes, one method per endpoint. Each makes one attempt and
 * throws a `ServiceError`; waiting and repeating are for the caller, who knows what is at stake.
 */
export interface ServiceClient {
  /** `GET /connections`. */
  listConnections(signal?: AbortSignal): Promise<PolledConnections>;
  /** `GET /messages`, newest first. */
  listMessages(query: MessageQuery, signal?: AbortSignal): Promise<PolledPage>;
  /** `GET /webhook`. */
  getWebhook(signal?: AbortSignal): Promise<WebhookRegistration>;
  /** `PUT /webhook`. Even with the URL that is set already, the secret before it is void at once. */
  putWebhook(url: string, signal?: AbortSignal): Promise<IssuedSecret>;
  /** `POST /webhook/rotate`. The secret before it is void at once. */
  rotateWebhook(signal?: AbortSignal): Promise<IssuedSecret>;
}

export interface ServiceClientOptions {
  /** `{base_url}`, the `/api/v1` prefix included. */
  readonly baseUrl: string;
  /** The bearer token of the moment: an API key, or an access token. */
  readonly token: () => string | Promise<string>;
  readonly clock: Clock;
}

/** Makes a client of the service for one credential. Holds no state and opens nothing. */
export function createServiceClient(options: ServiceClientOptions): ServiceClient {
  const call = createServiceCaller(options);

  async function ask<Shape>(request: ServiceCall, read: (body: unknown) => Shape) {
    const answer = await call(request);
    return { value: readAnswer(read, answer.body), date: answer.date };
  }

  async function issue(
    request: Pick<ServiceCall, 'method' | 'path' | 'body' | 'signal'>,
  ): Promise<IssuedSecret> {
    const { value, date } = await ask({ ...request, deadlineMs: WRITE_DEADLINE_MS }, readSecret);
    return { secret: value, issuedAt: date };
  }

  const reading = (path: string, signal: AbortSignal | undefined) =>
    ({ method: 'get', path, deadlineMs: READ_DEADLINE_MS, signal }) as const;

  return {
    listConnections: async (signal) =>
      (await ask(reading('connections', signal), readPolledConnections)).value,
    listMessages: async ({ connectionId, cursor, limit }, signal) => {
      const query = { connectionId, limit, cursor: cursor ?? undefined };
      return (await ask({ ...reading('messages', signal), query }, readPolledPage)).value;
    },
    getWebhook: async (signal) => (await ask(reading('webhook', signal), readWebhook)).value,
    putWebhook: (url, signal) => issue({ method: 'put', path: 'webhook', body: { url }, signal }),
    rotateWebhook: (signal) => issue({ method: 'post', path: 'webhook/rotate', signal }),
  };
}

function readAnswer<Shape>(read: (body: unknown) => Shape, body: unknown): Shape {
  try {
    return read(body);
  } catch (error) {
    if (!(error instanceof z.ZodError)) throw error;
    const [issue] = error.issues;
    throw new ServiceAnswerUnreadable(`${issue?.path.join('.') || 'the body'}: ${issue?.code ?? 'misfit'}`);
  }
}
