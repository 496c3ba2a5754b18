import type { SandboxInfo } from '../../src/contract/sandbox/info.ts';
import { createEventParser } from '../../src/runtime/http-server/event-parser.ts';
import { type CHECKED_APIS, checkAnswer } from './check-answer.ts';

/** The API of an address, and the path below its base address. */
const BASES: readonly (readonly [keyof typeof CHECKED_APIS, RegExp])[] = [
  ['service', /^\/api\/v1(?=\/)/],
  ['sandbox', /^\/sandbox\/v1(?=\/)/],
  ['connector', /^(?:\/connector)?(?=\/)/],
];

/** Fails for an answer that the contract of its API does not list. */
function checkJson(url: string, method: string, answer: Response, body: unknown): void {
  const { pathname } = new URL(url);
  const found = BASES.find(([, base]) => base.test(pathname));
  if (found === undefined) return;
  const [api, base] = found;
  const header = (name: string) => answer.headers.get(name);
  checkAnswer(api, method, pathname.replace(base, ''), { status: answer.status, body, header });
}

function toBody(body: unknown): string | Uint8Array<ArrayBuffer> {
  return body instanceof Uint8Array
    ? new Uint8Array(body.buffer as ArrayBuffer, body.byteOffset, body.length)
    : JSON.stringify(body);
}

/** Calls a JSON API; throws for any answer but a 2xx, and fails the test for one that no contract lists. */
export async function callJson<Answer>(
  url: string,
  init: {
    readonly method?: string;
    readonly token?: string;
    /** Sent as JSON; bytes are sent as they are. */
    readonly body?: unknown;
    readonly headers?: Readonly<Record<string, string>>;
  } = {},
): Promise<Answer> {
  const answer = await fetch(url, {
    method: init.method ?? 'GET',
    headers: {
      ...(init.token === undefined ? {} : { authorization: `Bearer ${init.token}` }),
      ...(init.body === undefined ? {} : { 'content-type': 'application/json' }),
      ...init.headers,
    },
    ...(init.body === undefined ? {} : { body: toBody(init.body) }),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${init.method ?? 'GET'} ${url} answered ${answer.status}: ${text}`);
  const body: unknown = JSON.parse(text);
  checkJson(url, init.method ?? 'GET', answer, body);
  return body as Answer;
}

/** A message as the connector shows it. */
export interface ShownMessage {
  readonly id: string;
  readonly connectionId: string;
  readonly direction: string;
  readonly peer: string | null;
  readonly text: string | null;
  readonly status: string | null;
  readonly firstSeenBy: string;
}

/** A change as the feed shows it. */
export interface ShownChange {
  readonly seq: number;
  readonly type: string;
  readonly messageId?: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** The addresses of a loop. */
export type LoopAddress = Pick<SandboxInfo, 'sandboxUrl' | 'baseUrl' | 'apiKey'> & {
  readonly connectorUrl: string | null;
  readonly connectorToken: string | null;
};

/** A client of a running loop: its contacts, its faults, and what its connector returns. */
export interface LoopClient {
  /** The first connection that sends events. */
  qrConnection(): Promise<string>;
  /** Sends a message from a contact, and resolves with its id. */
  write(connectionId: string, text: string): Promise<string>;
  /** Loses the webhooks of every event from now on. */
  dropWebhooks(): Promise<unknown>;
  /** Fails every poll of messages, so that messages can only arrive by webhook. */
  failPolls(): Promise<unknown>;
  clearFaults(): Promise<unknown>;
  deliveries(): Promise<
    readonly {
      messageId: string;
      outcome: string;
      headers: Record<string, string>;
      attempts: readonly unknown[];
    }[]
  >;
  sync(): Promise<unknown>;
  messages(): Promise<readonly ShownMessage[]>;
  /** The whole numbered feed. */
  changes(): Promise<readonly ShownChange[]>;
  /** Resolves with the message as the feed first shows it, now or later. */
  arrival(messageId: string): Promise<ShownMessage>;
}

const CONTACT = '447700900201';
const LONGEST_PAGE = 100;

export function createLoopClient(info: LoopAddress): LoopClient {
  const { apiKey, baseUrl, connectorToken, connectorUrl } = info;
  const sandbox = <Answer>(method: string, path: string, body?: unknown): Promise<Answer> =>
    callJson<Answer>(`${info.sandboxUrl}/sandbox/v1${path}`, { method, body });
  const connector = <Answer>(path: string, init: { method?: string; body?: unknown } = {}): Promise<Answer> =>
    callJson<Answer>(`${connectorUrl}/v1${path}`, { ...init, token: connectorToken ?? '' });

  return {
    async qrConnection() {
      const { connections } = await callJson<{ connections: { id: string; provider: string }[] }>(
        `${baseUrl}/connections`,
        { token: apiKey },
      );
      const found = connections.find(({ provider }) => provider === 'qr');
      if (found === undefined) throw new Error('the service has no connection that sends events');
      return found.id;
    },
    async write(connectionId, text) {
      const path = `/contacts/${CONTACT}/messages`;
      return (await sandbox<{ messageId: string }>('POST', path, { connectionId, text })).messageId;
    },
    dropWebhooks: () =>
      sandbox('PUT', '/faults', {
        rules: [{ id: 'lost', match: { surface: 'webhook' }, action: { type: 'drop' }, per: 'event' }],
      }),
    failPolls: () =>
      sandbox('PUT', '/faults', {
        rules: [
          {
            id: 'blind',
            match: { surface: 'api', method: 'GET', path: '/messages' },
            action: { type: 'status', code: 503 },
          },
        ],
      }),
    clearFaults: () => sandbox('DELETE', '/faults'),
    deliveries: async () => (await sandbox<{ entries: [] }>('GET', '/deliveries?limit=100')).entries,
    sync: () => connector('/sync', { method: 'POST', body: {} }),
    messages: async () =>
      (await connector<{ messages: ShownMessage[] }>(`/messages?limit=${LONGEST_PAGE}`)).messages,
    async changes() {
      const all: ShownChange[] = [];
      for (;;) {
        const after = all.at(-1)?.seq ?? 0;
        const page = await connector<{ changes: ShownChange[]; hasMore: boolean }>(
          `/changes?after=${after}&limit=${LONGEST_PAGE}`,
        );
        all.push(...page.changes);
        if (!page.hasMore) return all;
      }
    },
    arrival: (messageId) => readArrival(`${connectorUrl}/v1/changes/stream`, connectorToken ?? '', messageId),
  };
}

/** Reads the stream of changes from its beginning until it shows the message. */
async function readArrival(url: string, token: string, messageId: string): Promise<ShownMessage> {
  const leave = new AbortController();
  const answer = await fetch(url, {
    headers: { authorization: `Bearer ${token}`, 'last-event-id': '0' },
    signal: leave.signal,
  });
  if (!answer.ok || answer.body === null) throw new Error(`the stream answered ${answer.status}`);
  const parse = createEventParser();
  for await (const chunk of answer.body.pipeThrough(new TextDecoderStream())) {
    for (const { data } of parse(chunk)) {
      if (data === undefined) continue;
      const change = JSON.parse(data) as ShownChange;
      if (change.type !== 'message.created' || change.messageId !== messageId) continue;
      leave.abort();
      return change.data as unknown as ShownMessage;
    }
  }
  throw new Error('the stream ended before it showed the message');
}
