import { z } from 'zod';
import type { Account } from '../../contract/service/account.ts';
import type { CreateConnectionRequest } from '../../contract/service/connections.ts';
import { HEADERS } from '../../contract/service/headers.ts';
import { LIMITS } from '../../contract/service/limits.ts';
import type { ReadReceiptRequest, SendMessageRequest } from '../../contract/service/messages.ts';
import {
  type ReadConnectionDetail,
  type ReadCreatedConnection,
  type ReadSend,
  readAccount,
  readConnectionDetail,
  readCreatedConnection,
  readPairingCode,
  readReadReceipt,
  readRestart,
  readSecret,
  readSend,
  readWebhook,
} from '../../contract/service/read-answers.ts';
import type { Clock } from '../../runtime/clock/clock.ts';
import { createServiceCaller, type ServiceCall, type ServiceCallerOptions } from './call-service.ts';
import { type PolledConnections, type PolledPage, readPolledConnections, readPolledPage } from './polled.ts';
import { ServiceAnswerUnreadable, ServiceRefusal } from './service-errors.ts';

const READ_DEADLINE_MS = 20_000;
const WRITE_DEADLINE_MS = 15_000;
/** Restarts and pairing codes wait for the session behind the service. */
const SESSION_DEADLINE_MS = 60_000;
/** Of a send. The specification asks for at least 180 s; the rest is for the way there and back. */
export const SEND_DEADLINE_MS = LIMITS.sendClientTimeoutMs + 20_000;

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

/** What creating a connection brought. */
export interface CreatedConnection extends ReadCreatedConnection {
  /** True when an earlier request with the same idempotency key created it. */
  readonly replayed: boolean;
}

/**
 * The calls of the service that the connector makes, one method per endpoint. Each makes one attempt and
 * throws a `ServiceError`; waiting and repeating are for the caller, who knows what is at stake.
 */
export interface ServiceClient {
  /** `GET /connections`. */
  listConnections(signal?: AbortSignal): Promise<PolledConnections>;
  /** `POST /connections`. Repeat it with the same key: a lost answer may have created one. */
  createConnection(
    body: CreateConnectionRequest,
    idempotencyKey: string,
    signal?: AbortSignal,
  ): Promise<CreatedConnection>;
  /** `GET /connections/{id}`, with a new pairing picture on every call until it is connected. */
  getConnection(id: string, signal?: AbortSignal): Promise<ReadConnectionDetail>;
  /** `DELETE /connections/{id}`. For good. */
  deleteConnection(id: string, signal?: AbortSignal): Promise<void>;
  /** `POST /connections/{id}/restart`. */
  restartConnection(id: string, signal?: AbortSignal): Promise<{ readonly recreated: boolean }>;
  /** `POST /connections/{id}/logout`. */
  logoutConnection(id: string, signal?: AbortSignal): Promise<void>;
  /** `POST /connections/{id}/pairing-code`. The number goes out as it is: digits only. */
  requestPairingCode(id: string, phoneNumber: string, signal?: AbortSignal): Promise<string>;
  /** `GET /account`. */
  readAccount(signal?: AbortSignal): Promise<Account>;
  /** `GET /messages`, newest first. */
  listMessages(query: MessageQuery, signal?: AbortSignal): Promise<PolledPage>;
  /** `POST /messages`. Takes up to 2.5 minutes when a session heals first; the deadline is `SEND_DEADLINE_MS`. */
  sendMessage(body: SendMessageRequest, signal?: AbortSignal): Promise<ReadSend>;
  /** `POST /messages/read`; answers how many messages it marked. Safe to repeat. */
  markRead(body: ReadReceiptRequest, signal?: AbortSignal): Promise<number>;
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
  /** Another token, after a 401. Absent: a refused token is refused. */
  readonly renew?: ServiceCallerOptions['renew'];
  /** Opens sockets. Default: the global `fetch`, wherever the base address leads. */
  readonly fetch?: typeof fetch | undefined;
  readonly clock: Clock;
}

/** Makes a client of the service for one credential. Holds no state and opens nothing. */
export function createServiceClient(options: ServiceClientOptions): ServiceClient {
  const call = createServiceCaller(options);

  const ask: Ask = async (request, read) => {
    const { body, date, headers } = await call(request);
    return { value: readAnswer(read, body), date, headers };
  };

  async function issue(
    request: Pick<ServiceCall, 'method' | 'path' | 'body' | 'signal'>,
  ): Promise<IssuedSecret> {
    const { value, date } = await ask({ ...request, deadlineMs: WRITE_DEADLINE_MS }, readSecret);
    return { secret: value, issuedAt: date };
  }

  return {
    ...connectionCalls(ask),
    ...messageCalls(ask),
    readAccount: async (signal) => (await ask(reading('account', signal), readAccount)).value,
    getWebhook: async (signal) => (await ask(reading('webhook', signal), readWebhook)).value,
    putWebhook: (url, signal) => issue({ method: 'put', path: 'webhook', body: { url }, signal }),
    rotateWebhook: (signal) => issue({ method: 'post', path: 'webhook/rotate', signal }),
  };
}

type Ask = <Shape>(
  request: ServiceCall,
  read: (body: unknown) => Shape,
) => Promise<{ readonly value: Shape; readonly date: number | null; readonly headers: Headers }>;

function reading(path: string, signal: AbortSignal | undefined): ServiceCall {
  return { method: 'get', path, deadlineMs: READ_DEADLINE_MS, signal };
}

/**
 * The path of a connection. No encoding keeps `.` and `..` from being a step of the path, which leads to other endpoints:
 * no connection has such an id, and the service is not asked.
 */
function pathOf(connectionId: string): string {
  if (/^\.{0,2}$/.test(connectionId)) throw new ServiceRefusal({ status: 404, code: 'not_found' });
  return `connections/${encodeURIComponent(connectionId)}`;
}

type ConnectionCalls = Pick<
  ServiceClient,
  | 'listConnections'
  | 'createConnection'
  | 'getConnection'
  | 'deleteConnection'
  | 'restartConnection'
  | 'logoutConnection'
  | 'requestPairingCode'
>;

function connectionCalls(ask: Ask): ConnectionCalls {
  const one = (id: string, action?: string) => `${pathOf(id)}${action === undefined ? '' : `/${action}`}`;
  const acting = (path: string, signal: AbortSignal | undefined): ServiceCall => ({
    method: 'post',
    path,
    deadlineMs: SESSION_DEADLINE_MS,
    signal,
  });
  const nothing = (): void => undefined;
  return {
    async listConnections(signal) {
      const { value, date } = await ask(reading('connections', signal), readPolledConnections);
      return { ...value, date };
    },
    async createConnection(body, idempotencyKey, signal) {
      const headers = { [HEADERS.idempotencyKey]: idempotencyKey };
      const { value, headers: answered } = await ask(
        { ...acting('connections', signal), body, headers },
        readCreatedConnection,
      );
      return { ...value, replayed: answered.get(HEADERS.idempotencyReplayed) === 'true' };
    },
    getConnection: async (id, signal) => (await ask(reading(one(id), signal), readConnectionDetail)).value,
    async deleteConnection(id, signal) {
      await ask({ ...acting(one(id), signal), method: 'delete' }, nothing);
    },
    restartConnection: async (id, signal) =>
      (await ask(acting(one(id, 'restart'), signal), readRestart)).value,
    async logoutConnection(id, signal) {
      await ask(acting(one(id, 'logout'), signal), nothing);
    },
    requestPairingCode: async (id, phoneNumber, signal) => {
      const body = { phoneNumber };
      return (await ask({ ...acting(one(id, 'pairing-code'), signal), body }, readPairingCode)).value;
    },
  };
}

function messageCalls(ask: Ask): Pick<ServiceClient, 'listMessages' | 'sendMessage' | 'markRead'> {
  const posting = { method: 'post' } as const;
  return {
    listMessages: async ({ connectionId, cursor, limit }, signal) => {
      const query = { connectionId, limit, cursor: cursor ?? undefined };
      return (await ask({ ...reading('messages', signal), query }, readPolledPage)).value;
    },
    sendMessage: async (body, signal) => {
      const call = { ...posting, path: 'messages', body, deadlineMs: SEND_DEADLINE_MS, signal };
      return (await ask(call, readSend)).value;
    },
    markRead: async (body, signal) => {
      const call = { ...posting, path: 'messages/read', body, deadlineMs: WRITE_DEADLINE_MS, signal };
      return (await ask(call, readReadReceipt)).value;
    },
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
