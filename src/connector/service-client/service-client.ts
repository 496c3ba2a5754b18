import { z } from 'zod';
import type { CreateConnectionRequest } from '../../contract/service/connections.ts';
import { HEADERS } from '../../contract/service/headers.ts';
import { LIMITS } from '../../contract/service/limits.ts';
import type { ReadReceiptRequest } from '../../contract/service/messages.ts';
import {
  type ReadAccount,
  type ReadConnectionDetail,
  type ReadCreatedConnection,
  type ReadSend,
  type ReadWebhook,
  readAccount,
  readConnectionDetail,
  readConnectionList,
  readCreatedConnection,
  readPairingCode,
  readReadReceipt,
  readRestart,
  readSecret,
  readSend,
  readWebhook,
} from '../../contract/service/read-answers.ts';
import type { Clock } from '../../runtime/clock/clock.ts';
import { digest } from '../../runtime/sealing/digest.ts';
import {
  createServiceCaller,
  readBody,
  type ServiceCall,
  type ServiceCallerOptions,
} from './call-service.ts';
import { type PolledConnections, type PolledPage, readPolledPage } from './polled.ts';
import { ServiceAnswerUnreadable, ServiceRefusal } from './service-errors.ts';
import { type SentMessage, streamMessage } from './stream-message.ts';

const READ_DEADLINE_MS = 20_000;
const WRITE_DEADLINE_MS = 15_000;
/** Restarts and pairing codes wait for the session behind the service. */
const SESSION_DEADLINE_MS = 60_000;
/**
 * Deadline of a send. The specification requires at least 180 s; the rest is for the network.
 * [messages.send.client-timeout] [limits.send-timeout]
 */
export const SEND_DEADLINE_MS = LIMITS.sendClientTimeoutMs + 20_000;

/** A successful response whose body was received, but not parsed. */
export interface UnreadAnswer<Shape> {
  /** Equal digests mean equal bodies. */
  readonly digest: string;
  /** The `Date` of the response in epoch milliseconds, whole seconds; null if it had none. */
  readonly date: number | null;
  /** Throws `ServiceAnswerUnreadable` if the body does not match the specification. */
  read(): Shape;
}

export interface MessageQuery {
  readonly connectionId?: string | undefined;
  readonly cursor?: string | null | undefined;
  readonly limit: number;
}

/** A signing secret that the service has just issued. Every earlier secret is invalid. */
export interface IssuedSecret {
  readonly secret: string;
  /** The `Date` of the response in epoch milliseconds, whole seconds; null if it had none. */
  readonly issuedAt: number | null;
}

/** The result of creating a connection. */
export interface CreatedConnection extends ReadCreatedConnection {
  /** True if an earlier request with the same idempotency key created it. */
  readonly replayed: boolean;
}

/**
 * The calls that the connector makes to the service, one method per endpoint. Each makes one attempt and
 * throws a `ServiceError`; waits and retries are up to the caller, who knows the consequences.
 */
export interface ServiceClient {
  /** `GET /connections`, not read yet. */
  requestConnections(signal?: AbortSignal): Promise<UnreadAnswer<PolledConnections>>;
  /** `GET /connections`. */
  listConnections(signal?: AbortSignal): Promise<PolledConnections>;
  /** `POST /connections`. Retry it with the same key: a call whose response was lost may have created one. */
  createConnection(
    body: CreateConnectionRequest,
    idempotencyKey: string,
    signal?: AbortSignal,
  ): Promise<CreatedConnection>;
  /** `GET /connections/{id}`, with a new QR code on every call until it is connected. */
  getConnection(id: string, signal?: AbortSignal): Promise<ReadConnectionDetail>;
  /** `DELETE /connections/{id}`. Permanent. */
  deleteConnection(id: string, signal?: AbortSignal): Promise<void>;
  /** `POST /connections/{id}/restart`. */
  restartConnection(id: string, signal?: AbortSignal): Promise<{ readonly recreated: boolean }>;
  /** `POST /connections/{id}/logout`. */
  logoutConnection(id: string, signal?: AbortSignal): Promise<void>;
  /** `POST /connections/{id}/pairing-code`. The number is sent unchanged: digits only. */
  requestPairingCode(id: string, phoneNumber: string, signal?: AbortSignal): Promise<string>;
  /** `GET /account`. */
  readAccount(signal?: AbortSignal): Promise<ReadAccount>;
  /** `GET /messages`, newest first, not read yet. */
  requestMessages(query: MessageQuery, signal?: AbortSignal): Promise<UnreadAnswer<PolledPage>>;
  /** `GET /messages`, newest first. */
  listMessages(query: MessageQuery, signal?: AbortSignal): Promise<PolledPage>;
  /**
   * `POST /messages`. Takes up to 2.5 minutes if a session heals first; the deadline is `SEND_DEADLINE_MS`.
   */
  sendMessage(body: SentMessage, signal?: AbortSignal): Promise<ReadSend>;
  /** `POST /messages/read`; returns how many messages it marked. Idempotent. */
  markRead(body: ReadReceiptRequest, signal?: AbortSignal): Promise<number>;
  /** `GET /webhook`. */
  getWebhook(signal?: AbortSignal): Promise<ReadWebhook>;
  /** `PUT /webhook`. Invalidates the previous secret at once, even if the URL stays the same. */
  putWebhook(url: string, signal?: AbortSignal): Promise<IssuedSecret>;
  /** `POST /webhook/rotate`. Invalidates the previous secret at once. */
  rotateWebhook(signal?: AbortSignal): Promise<IssuedSecret>;
}

export interface ServiceClientOptions {
  /** `{base_url}`, including the `/api/v1` prefix. */
  readonly baseUrl: string;
  /** The current bearer token: an API key, or an access token. */
  readonly token: () => string | Promise<string>;
  /** Returns another token after a 401. If absent, a rejected token is final. */
  readonly renew?: ServiceCallerOptions['renew'];
  readonly fetch?: ServiceCallerOptions['fetch'];
  readonly clock: Clock;
}

/** Creates a client of the service for one credential. It holds no state and opens nothing. */
export function createServiceClient(options: ServiceClientOptions): ServiceClient {
  const call = createServiceCaller(options);

  const ask: Ask = async (request, read) => {
    const answer = await call(request);
    return { value: readAnswer(read, readBody(answer)), date: answer.date, headers: answer.headers };
  };
  const request: Requesting = async (wanted, read) => {
    const answer = await call(wanted);
    const { text, date } = answer;
    return {
      date,
      get digest() {
        return digest(text);
      },
      read: () => readAnswer((body) => read(body, date), readBody(answer)),
    };
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
    ...listCalls(request),
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

type Requesting = <Shape>(
  request: ServiceCall,
  read: (body: unknown, date: number | null) => Shape,
) => Promise<UnreadAnswer<Shape>>;

function reading(path: string, signal: AbortSignal | undefined): ServiceCall {
  return { method: 'get', path, deadlineMs: READ_DEADLINE_MS, signal };
}

/**
 * The path of a connection. `.` and `..` remain path segments with a meaning however they are encoded, and
 * would lead to other endpoints: no connection has such an id, so the service is not called.
 */
function pathOf(connectionId: string): string {
  if (/^\.{0,2}$/.test(connectionId)) throw new ServiceRefusal({ status: 404, code: 'not_found' });
  return `connections/${encodeURIComponent(connectionId)}`;
}

type ConnectionCalls = Pick<
  ServiceClient,
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

function listCalls(
  request: Requesting,
): Pick<ServiceClient, 'requestConnections' | 'listConnections' | 'requestMessages' | 'listMessages'> {
  const requestConnections: ServiceClient['requestConnections'] = (signal) =>
    request(reading('connections', signal), (body, date) => ({ ...readConnectionList(body), date }));
  const requestMessages: ServiceClient['requestMessages'] = ({ connectionId, cursor, limit }, signal) => {
    const query = { connectionId, limit, cursor: cursor ?? undefined };
    return request({ ...reading('messages', signal), query }, readPolledPage);
  };
  return {
    requestConnections,
    listConnections: async (signal) => (await requestConnections(signal)).read(),
    requestMessages,
    listMessages: async (query, signal) => (await requestMessages(query, signal)).read(),
  };
}

function messageCalls(ask: Ask): Pick<ServiceClient, 'sendMessage' | 'markRead'> {
  const posting = { method: 'post' } as const;
  return {
    sendMessage: async (body, signal) => {
      const stream = streamMessage(body);
      const content = stream === undefined ? { body: { ...body } } : { stream };
      const call = { ...posting, path: 'messages', ...content, deadlineMs: SEND_DEADLINE_MS, signal };
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
    throw new ServiceAnswerUnreadable(`${issue?.path.join('.') || 'the body'}: ${issue?.code ?? 'invalid'}`);
  }
}
