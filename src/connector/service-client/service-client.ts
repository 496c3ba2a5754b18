import { z } from 'zod';
import { acknowledgement, type CreateConnectionRequest } from '../../contract/service/connections.ts';
import { HEADERS } from '../../contract/service/headers.ts';
import { LIMITS } from '../../contract/service/limits.ts';
import type { ReadReceiptRequest } from '../../contract/service/messages.ts';
import {
  type ReadAccount,
  type ReadConnectionDetail,
  type ReadConnectionListItem,
  type ReadCreatedConnection,
  type ReadItems,
  type ReadMessage,
  type ReadSend,
  type ReadWebhook,
  readAccount,
  readConnectionDetail,
  readConnectionList,
  readCreatedConnection,
  readMessagePage,
  readPairingCode,
  readReadReceipt,
  readRestart,
  readSecret,
  readSend,
  readWebhook,
} from '../../contract/service/read-answers.ts';
import { type MessageStatus, messageStatus } from '../../contract/service/statuses.ts';
import { digest } from '../../runtime/sealing/digest.ts';
import {
  createServiceCaller,
  readBody,
  type SentMessage,
  type ServiceCall,
  type ServiceCallerOptions,
  streamMessage,
} from './call-service.ts';
import { ServiceAnswerUnreadable, ServiceRefusal } from './service-errors.ts';

/** A message as polling uses it. */
export interface PolledMessage extends Omit<ReadMessage, 'direction' | 'status' | 'createdAt'> {
  readonly direction: 'incoming' | 'outgoing';
  /** Null for a status that this version does not know. */
  readonly status: MessageStatus | null;
  /** Epoch milliseconds. `NaN` if the page contains no readable time. */
  readonly createdAt: number;
  /**
   * False if the direction or the time could not be read. The direction is then assumed to be `incoming`, because
   * a contact's message must not be lost, and the time is that of a neighbour in the list.
   */
  readonly certain: boolean;
}

/** A page of messages, newest first. */
export interface PolledPage extends ReadItems<PolledMessage> {
  readonly nextCursor: string | null;
  readonly hasMore: boolean;
}

export interface PolledConnections extends ReadItems<ReadConnectionListItem> {
  /** The `Date` of the response in epoch milliseconds, whole seconds; null if it had none. */
  readonly date: number | null;
}

/** Reads a page of `GET /messages`. Throws a `ZodError` if the value is not a page. */
export function readPolledPage(body: unknown): PolledPage {
  const page = readMessagePage(body);
  let neighbour = page.items.find(({ createdAt }) => createdAt !== null)?.createdAt ?? Number.NaN;
  const items = page.items.map((item) => {
    neighbour = item.createdAt ?? neighbour;
    return {
      ...item,
      direction: item.direction ?? 'incoming',
      status: messageStatus.safeParse(item.status?.trim().toLowerCase()).data ?? null,
      createdAt: neighbour,
      certain: item.direction !== null && item.createdAt !== null,
    };
  });
  return { ...page, items };
}

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

/**
 * The calls that the connector makes to the service, one method per endpoint. Each makes one attempt and
 * throws a `ServiceError`; waits and retries are up to the caller, who knows the consequences.
 */
export type ServiceClient = ReturnType<typeof createServiceClient>;

type Signal = AbortSignal | undefined;

/** Creates a client of the service for one credential. It holds no state and opens nothing. */
export function createServiceClient(options: ServiceCallerOptions) {
  const call = createServiceCaller(options);

  async function ask<Shape>(request: ServiceCall, read: (body: unknown) => Shape) {
    const answer = await call(request);
    return { value: readAnswer(read, readBody(answer)), date: answer.date };
  }

  async function request<Shape>(
    wanted: ServiceCall,
    read: (body: unknown, date: number | null) => Shape,
  ): Promise<UnreadAnswer<Shape>> {
    const answer = await call(wanted);
    const { text, date } = answer;
    return {
      date,
      get digest() {
        return digest(text);
      },
      read: () => readAnswer((body) => read(body, date), readBody(answer)),
    };
  }

  async function issue(
    about: Pick<ServiceCall, 'method' | 'path' | 'body' | 'signal'>,
  ): Promise<IssuedSecret> {
    const { value, date } = await ask({ ...about, deadlineMs: WRITE_DEADLINE_MS }, readSecret);
    return { secret: value, issuedAt: date };
  }

  /** `GET /connections`, not read yet. */
  const requestConnections = (signal?: Signal): Promise<UnreadAnswer<PolledConnections>> =>
    request(reading('connections', signal), (body, date) => ({ ...readConnectionList(body), date }));

  /** `GET /messages`, newest first, not read yet. */
  const requestMessages = (
    { connectionId, cursor, limit }: MessageQuery,
    signal?: Signal,
  ): Promise<UnreadAnswer<PolledPage>> => {
    const query = { connectionId, limit, cursor: cursor ?? undefined };
    return request({ ...reading('messages', signal), query }, readPolledPage);
  };

  return {
    requestConnections,
    /** `GET /connections`. */
    listConnections: async (signal?: Signal): Promise<PolledConnections> =>
      (await requestConnections(signal)).read(),
    /** `POST /connections`. Retry it with the same key: a call whose response was lost may have created one. */
    async createConnection(
      body: CreateConnectionRequest,
      idempotencyKey: string,
      signal?: Signal,
    ): Promise<ReadCreatedConnection> {
      const headers = { [HEADERS.idempotencyKey]: idempotencyKey };
      const wanted = { ...acting('connections', signal), body, headers };
      return (await ask(wanted, readCreatedConnection)).value;
    },
    /** `GET /connections/{id}`, with a new QR code on every call until it is connected. */
    getConnection: async (id: string, signal?: Signal): Promise<ReadConnectionDetail> =>
      (await ask(reading(pathOf(id), signal), readConnectionDetail)).value,
    /** `DELETE /connections/{id}`. Permanent. */
    async deleteConnection(id: string, signal?: Signal): Promise<void> {
      await ask({ ...acting(pathOf(id), signal), method: 'delete' }, acknowledged);
    },
    /** `POST /connections/{id}/restart`. */
    restartConnection: async (id: string, signal?: Signal): Promise<{ readonly recreated: boolean }> =>
      (await ask(acting(pathOf(id, 'restart'), signal), readRestart)).value,
    /** `POST /connections/{id}/logout`. */
    async logoutConnection(id: string, signal?: Signal): Promise<void> {
      await ask(acting(pathOf(id, 'logout'), signal), acknowledged);
    },
    /** `POST /connections/{id}/pairing-code`. The number is sent unchanged: digits only. */
    async requestPairingCode(id: string, phoneNumber: string, signal?: Signal): Promise<string> {
      const posted = { ...acting(pathOf(id, 'pairing-code'), signal), body: { phoneNumber } };
      return (await ask(posted, readPairingCode)).value;
    },
    /** `GET /account`. */
    readAccount: async (signal?: Signal): Promise<ReadAccount> =>
      (await ask(reading('account', signal), readAccount)).value,
    requestMessages,
    /** `GET /messages`, newest first. */
    listMessages: async (query: MessageQuery, signal?: Signal): Promise<PolledPage> =>
      (await requestMessages(query, signal)).read(),
    /**
     * `POST /messages`. Takes up to 2.5 minutes if a session heals first; the deadline is `SEND_DEADLINE_MS`.
     */
    async sendMessage(body: SentMessage, signal?: Signal): Promise<ReadSend> {
      const stream = streamMessage(body);
      const content = stream === undefined ? { body: { ...body } } : { stream };
      const about = { method: 'post', path: 'messages', deadlineMs: SEND_DEADLINE_MS, signal } as const;
      return (await ask({ ...about, ...content }, readSend)).value;
    },
    /** `POST /messages/read`; returns how many messages it marked. Idempotent. */
    async markRead(body: ReadReceiptRequest, signal?: Signal): Promise<number> {
      const about = { method: 'post', path: 'messages/read', deadlineMs: WRITE_DEADLINE_MS, signal } as const;
      return (await ask({ ...about, body }, readReadReceipt)).value;
    },
    /** `GET /webhook`. */
    getWebhook: async (signal?: Signal): Promise<ReadWebhook> =>
      (await ask(reading('webhook', signal), readWebhook)).value,
    /** `PUT /webhook`. Invalidates the previous secret at once, even if the URL stays the same. */
    putWebhook: (url: string, signal?: Signal): Promise<IssuedSecret> =>
      issue({ method: 'put', path: 'webhook', body: { url }, signal }),
    /** `POST /webhook/rotate`. Invalidates the previous secret at once. */
    rotateWebhook: (signal?: Signal): Promise<IssuedSecret> =>
      issue({ method: 'post', path: 'webhook/rotate', signal }),
  };
}

const acknowledged = (body: unknown): unknown => acknowledgement.parse(body);

function reading(path: string, signal: Signal): ServiceCall {
  return { method: 'get', path, deadlineMs: READ_DEADLINE_MS, signal };
}

function acting(path: string, signal: Signal): ServiceCall {
  return { method: 'post', path, deadlineMs: SESSION_DEADLINE_MS, signal };
}

/**
 * The path of a connection. `.` and `..` remain path segments with a meaning however they are encoded, and
 * would lead to other endpoints: no connection has such an id, so the service is not called.
 */
function pathOf(connectionId: string, action?: string): string {
  if (/^\.{0,2}$/.test(connectionId)) throw new ServiceRefusal({ status: 404, code: 'not_found' });
  return `connections/${encodeURIComponent(connectionId)}${action === undefined ? '' : `/${action}`}`;
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
