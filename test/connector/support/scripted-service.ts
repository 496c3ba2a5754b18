import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import { type Served, serve } from '../../support/serve.ts';

/** A message as this service keeps it; `createdAt` in epoch milliseconds. */
export interface ServiceMessage {
  id: string;
  connectionId: string;
  direction: 'incoming' | 'outgoing';
  text: string | null;
  status: string;
  createdAt: number;
  /** Fields that it shows differently. */
  shown?: Readonly<Record<string, unknown>>;
}

export interface ServiceConnection {
  id: string;
  phoneNumber: string;
  label: string;
  provider: string;
  status: string;
  licenseValid: boolean;
  licenseStatus: string;
  licenseExpires?: string;
}

export interface ServiceRequest {
  readonly method: string;
  /** Without the prefix and the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface Answer {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** What is done with one request in place of the usual: an answer, or `hang` until the service closes. */
export type Fault = Answer | 'hang' | 'reset';

/**
 * A small service written from the specification, for tests of its client: connections, messages by page,
 * the webhook. Tests reach into its state, and script faults.
 */
export class ScriptedService {
  readonly apiKeys = new Set(['key-1']);
  connections: ServiceConnection[] = [];
  messages: ServiceMessage[] = [];
  requests: ServiceRequest[] = [];
  webhook: { url: string; secret: string } | null = null;
  /** What the webhook configuration says of the delivered types. */
  events: string[] = [];
  /** Secrets are this and a number. */
  secretPrefix = 'secret-';
  pageSize = 100;
  account = {
    slots: { total: 5, used: 2, available: 3, nextExpiry: '2026-02-01T00:00:00.000Z' as string | null },
    connections: { total: 2, connected: 2, needsReconnect: 0 },
  };
  /** `Date` of its answers; null: none. */
  date: number | null = null;
  /** Called before each request is answered. */
  onRequest: (request: ServiceRequest) => void | Promise<void> = () => undefined;
  /** Asked for each request; a fault takes the place of the answer. */
  fault: (request: ServiceRequest) => Fault | undefined = () => undefined;
  /** Changes the usual answers. */
  change: (request: ServiceRequest, answer: Answer) => Answer = (_, answer) => answer;
  #secrets = 0;
  #generation = 0;
  #nextId = 0;
  #served: Served | undefined;

  static async start(): Promise<ScriptedService> {
    const service = new ScriptedService();
    service.#served = await serve(
      createServer((request, response) => void service.#handle(request, response)),
    );
    return service;
  }

  get baseUrl(): string {
    return `${this.#served?.url}/api/v1`;
  }

  async close(): Promise<void> {
    await this.#served?.close();
  }

  addConnection(id: string, values: Partial<ServiceConnection> = {}): ServiceConnection {
    const connection = {
      id,
      phoneNumber: '491701234567',
      label: `Label of ${id}`,
      provider: 'qr',
      status: 'open',
      licenseValid: true,
      licenseStatus: 'active',
      ...values,
    };
    this.connections.push(connection);
    return connection;
  }

  addMessage(connectionId: string, createdAt: number, values: Partial<ServiceMessage> = {}): ServiceMessage {
    this.#nextId += 1;
    const id = `m${String(this.#nextId).padStart(6, '0')}`;
    const message: ServiceMessage = {
      id,
      connectionId,
      direction: 'incoming',
      text: `Text of ${id}`,
      status: 'delivered',
      createdAt,
      ...values,
    };
    this.messages.push(message);
    return message;
  }

  addMessages(connectionId: string, count: number, createdAt: (index: number) => number): void {
    for (let index = 0; index < count; index += 1) this.addMessage(connectionId, createdAt(index));
  }

  /** Adds a message that the CRM has sent. */
  addSent(
    connectionId: string,
    createdAt: number,
    status: ServiceMessage['status'] = 'sent',
  ): ServiceMessage {
    return this.addMessage(connectionId, createdAt, { direction: 'outgoing', status });
  }

  /** From now on cursors issued before are refused. */
  expireCursors(): void {
    this.#generation += 1;
  }

  /** Paths of the requests so far, with the cursor's position where there is one. */
  countRequests(path: string): number {
    return this.requests.filter((request) => request.path === path).length;
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '', 'http://service');
    const body = await readBody(request);
    const parsed: ServiceRequest = {
      method: request.method ?? '',
      path: url.pathname.replace('/api/v1', ''),
      query: url.searchParams,
      headers: request.headers,
      body,
    };
    this.requests.push(parsed);
    await this.onRequest(parsed);
    const fault = this.fault(parsed);
    if (fault === 'hang') return;
    if (fault === 'reset') return void request.socket.resetAndDestroy();
    const answer = fault ?? this.change(parsed, this.#answer(parsed, request.headers.authorization, body));
    response.sendDate = false;
    if (this.date !== null) response.setHeader('date', new Date(this.date).toUTCString());
    const type = typeof answer.body === 'string' ? {} : { 'content-type': 'application/json' };
    response.writeHead(answer.status, { ...type, ...answer.headers });
    response.end(typeof answer.body === 'string' ? answer.body : JSON.stringify(answer.body));
  }

  #answer({ method, path, query }: ServiceRequest, authorization: string | undefined, body: string): Answer {
    const key = /^Bearer (.+)$/.exec(authorization ?? '')?.[1] ?? '';
    if (!this.apiKeys.has(key)) return { status: 401, body: { error: 'invalid_key' } };
    switch (`${method} ${path}`) {
      case 'GET /connections':
        return { status: 200, body: { connections: this.connections.filter((each) => each.licenseValid) } };
      case 'GET /messages':
        return this.#page(query);
      case 'GET /webhook':
        return {
          status: 200,
          body: { url: this.webhook?.url ?? null, events: this.events, secretSet: this.webhook !== null },
        };
      case 'PUT /webhook':
        this.webhook = {
          url: String(JSON.parse(body).url),
          secret: `${this.secretPrefix}${++this.#secrets}`,
        };
        return { status: 200, body: { ...this.webhook, events: this.events } };
      case 'POST /webhook/rotate':
        if (this.webhook === null) return { status: 400, body: { error: 'invalid_webhook' } };
        this.webhook = { ...this.webhook, secret: `${this.secretPrefix}${++this.#secrets}` };
        return { status: 200, body: { secret: this.webhook.secret } };
      case 'GET /account':
        return { status: 200, body: this.account };
      default:
        return { status: 404, body: { error: 'not_found' } };
    }
  }

  #page(query: URLSearchParams): Answer {
    const cursor = query.get('cursor');
    const connectionId = query.get('connectionId');
    const visible = new Set(this.connections.filter((each) => each.licenseValid).map((each) => each.id));
    const sorted = this.messages
      .filter((message) => visible.has(message.connectionId))
      .filter((message) => connectionId === null || message.connectionId === connectionId)
      .sort((a, b) => b.createdAt - a.createdAt || b.id.localeCompare(a.id));
    const start = cursor === null ? 0 : this.#position(sorted, cursor);
    if (start === null) return { status: 400, body: { error: 'invalid_request', field: 'cursor' } };
    const limit = Math.min(Number(query.get('limit') ?? 20), this.pageSize);
    const page = sorted.slice(start, start + limit);
    const last = page.at(-1);
    const hasMore = start + limit < sorted.length;
    const messages = page.map((message) => ({
      ...message,
      createdAt: new Date(message.createdAt).toISOString(),
      waMessageId: null,
      mediaUrl: null,
      mediaType: null,
      errorMessage: null,
      ...message.shown,
    }));
    const nextCursor = hasMore && last !== undefined ? this.#cursor(last) : null;
    return { status: 200, body: { messages, nextCursor, hasMore } };
  }

  #cursor(last: ServiceMessage): string {
    return Buffer.from(`${this.#generation}|${last.createdAt}|${last.id}`).toString('base64url');
  }

  #position(sorted: readonly ServiceMessage[], cursor: string): number | null {
    const [generation, createdAt, id] = Buffer.from(cursor, 'base64url').toString().split('|');
    if (Number(generation) !== this.#generation || id === undefined) return null;
    const at = Number(createdAt);
    const index = sorted.findIndex(
      (message) => message.createdAt < at || (message.createdAt === at && message.id.localeCompare(id) < 0),
    );
    return index < 0 ? sorted.length : index;
  }
}

async function readBody(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of request) text += String(chunk);
  return text;
}
