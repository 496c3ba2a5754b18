import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { serve } from '../../../../test/support/serve.ts';

export const SECRET = 'whsec_Z2FsbGVyeS1zZWNyZXQ=';
export const OLD_SECRET = 'whsec_b2xkLWdhbGxlcnktc2VjcmV0';

export const WINDOW_MS = 5 * 60_000;
const RANKS: Readonly<Record<string, number>> = { sent: 1, delivered: 2, read: 3, failed: 4 };

/** A message as a receiver stores it. */
export interface Row {
  readonly id: string;
  status: string | null;
  text?: string | null | undefined;
  media_url?: string | null;
  media_type?: string | null;
  readonly wa_id?: string | null;
  readonly timestamp?: number;
  /** The delivery that created it. */
  readonly body?: string;
}

interface Event {
  readonly event?: string;
  readonly connection_id?: string;
  readonly message?: Row;
  readonly connection?: { readonly reason?: string };
}

/** What differs from the plain receiver, which is correct: a mistake, or another right way. */
export interface Ways {
  readonly secrets?: readonly string[];
  /** The bytes that are verified, made from the chunks of the body. */
  readonly bytes?: (chunks: readonly Buffer[]) => Buffer;
  /** Whether a digest is correct. */
  readonly same?: (given: string, right: string) => boolean;
  /** What is not verified at all. */
  readonly trusts?: (request: IncomingMessage) => boolean;
  /** Which signature counts if a request has several. */
  readonly pick?: (values: readonly string[]) => string | undefined;
  /** Decodes a header, of which Node makes a character of each byte. */
  readonly decode?: (header: string) => string;
  /** Whether a timestamp has the right form. */
  readonly form?: (timestamp: string) => boolean;
  /** Whether a signature of this age, in milliseconds, counts. */
  readonly fresh?: (ageMs: number, timestamp: string) => boolean;
  /** The signature as it is expected in the header. */
  readonly signs?: (secret: string, timestamp: string, body: Buffer) => string;
  /** Whether a content type is accepted. */
  readonly takes?: (contentType: string) => boolean;
  readonly largest?: number;
  readonly tooLarge?: number;
  /** The status for an event, instead of 200. */
  readonly answer?: (event: Event, rows: readonly Row[]) => number;
  /** Which events end the process. */
  readonly dies?: (event: Event) => boolean;
  /** How many requests it answers in a minute; others are answered with 429. */
  readonly perMinute?: number;
  /** The status for a body that is not JSON. */
  readonly notJson?: number;
  /** The status for other methods than POST; 0 closes their connection. */
  readonly otherMethod?: number;
  /** How many requests are processed at once. */
  readonly atOnce?: number;
  /** Called after each answer. */
  readonly afterwards?: (socket: Socket) => void;
  /** Answers only 503 after the second request on a connection. */
  readonly givesUp?: boolean;
  readonly storesBefore?: 'verified' | 'nothing';
  /** Acknowledges before it stores: what is queued is lost if the process dies. */
  readonly storesLater?: boolean;
  /** How often it is observed before a worker stores what is queued. */
  readonly worksEvery?: number;
  /** Whether the worker begins with the newest. */
  readonly reorders?: boolean;
  /** Which events concern it. */
  readonly concerns?: (event: Event) => boolean;
  /** `memory` is lost when the process dies. */
  readonly insert?: (rows: Row[], row: Row, memory: Set<string>) => void | Promise<void>;
  readonly update?: (rows: Row[], id: string, status: string) => void;
  /** What the observer returns. */
  readonly shows?: (rows: readonly Row[]) => readonly object[];
}

/** A running receiver. */
export interface GalleryReceiver {
  readonly url: string;
  /** Its contents, as an observer reads them. */
  observe(): Promise<readonly object[]>;
  /** Like `kill -9` and a restart: what is not stored is lost. */
  restart(): Promise<void>;
  close(): Promise<void>;
}

const HEX = /^sha256=([0-9a-f]{64})$/i;

/** Resolves when requests of the same moment have arrived. */
export async function otherRequests(): Promise<void> {
  for (let turn = 0; turn < 50; turn += 1) await setImmediate();
}

export const find = (rows: readonly Row[], id: string): Row | undefined => rows.find((row) => row.id === id);

/** Inserts a row, or fills in that which its status has created: as with a unique index. */
export function insertOnce(rows: Row[], row: Row): void {
  const { status, ...fields } = row;
  const before = find(rows, row.id);
  if (before === undefined) rows.push(row);
  else Object.assign(before, fields);
}

export const isHigher = (status: string, before: string | null): boolean =>
  before !== 'read' && (RANKS[status] ?? 0) > (RANKS[before ?? ''] ?? 0);

/** Decides about the status of a message, which may not exist yet. */
export function setStatus(
  decide: (status: string, before: string | null) => boolean,
): (rows: Row[], id: string, status: string) => void {
  return (rows, id, status) => {
    const row = find(rows, id);
    if (row === undefined) {
      if (decide(status, null)) rows.push({ id, status });
    } else if (decide(status, row.status)) row.status = status;
  };
}

/** Starts a receiver that is correct except for its mistakes. */
export async function startGalleryReceiver(
  ways: Ways,
  now: () => number = Date.now,
): Promise<GalleryReceiver> {
  const {
    secrets = [SECRET],
    bytes = Buffer.concat,
    same = (given, right) => timingSafeEqual(Buffer.from(given, 'hex'), Buffer.from(right, 'hex')),
    signs,
    decode = (header) => header,
    takes = () => true,
    dies = () => false,
    perMinute = Number.POSITIVE_INFINITY,
    worksEvery = 1,
    reorders = false,
    concerns = () => true,
    shows = (all) => all,
    trusts = () => false,
    pick = (values) => (values.length === 1 ? values[0] : undefined),
    form = (timestamp) => /^\d{13}$/.test(timestamp),
    fresh = (ageMs) => Math.abs(ageMs) <= WINDOW_MS,
    largest = 1024 * 1024,
    tooLarge = 413,
    answer = () => 200,
    notJson = 400,
    otherMethod = 405,
    atOnce = Number.POSITIVE_INFINITY,
    afterwards = () => undefined,
    givesUp = false,
    storesBefore = 'nothing',
    storesLater = false,
    insert = insertOnce,
    update = setStatus(isHigher),
  } = ways;
  const rows: Row[] = [];
  const memory = new Set<string>();
  let looks = 0;
  let window = { began: now(), requests: 0 };
  let waiting: (() => void | Promise<void>)[] = [];
  let running = 0;
  let isOver = false;
  const perSocket = new WeakMap<Socket, number>();

  const stop = async (): Promise<void> => {
    if (server.listening) await close();
  };

  const isGenuine = (request: IncomingMessage, body: Buffer): boolean => {
    if (trusts(request)) return true;
    const timestamp = pick(request.headersDistinct['x-service-timestamp']?.map(decode) ?? []);
    const signature = pick(request.headersDistinct['x-service-signature'] ?? []);
    if (timestamp === undefined || signature === undefined || !form(timestamp)) return false;
    if (!fresh(Date.now() - Number(timestamp), timestamp)) return false;
    if (signs !== undefined) return secrets.some((secret) => signs(secret, timestamp, body) === signature);
    const given = ways.same === undefined ? HEX.exec(signature)?.[1] : signature.slice('sha256='.length);
    if (given === undefined) return false;
    const sign = (secret: string) =>
      createHmac('sha256', secret).update(`${timestamp}.`).update(body).digest('hex');
    return secrets.some((secret) => same(given, sign(secret)));
  };

  const store = (event: Event, body: string): void | Promise<void> => {
    const { message } = event;
    if (message === undefined || !concerns(event)) return;
    if (event.event === 'message.received') return insert(rows, { ...message, status: null, body }, memory);
    if (event.event === 'message.status' && Object.hasOwn(RANKS, message.status ?? '')) {
      update(rows, message.id, message.status ?? '');
    }
  };

  const handle = async (request: IncomingMessage): Promise<number> => {
    if (isOver) return 503;
    if (request.method !== 'POST') return otherMethod;
    if (now() - window.began > 60_000) window = { began: now(), requests: 0 };
    window.requests += 1;
    if (window.requests > perMinute) return 429;
    if (!takes(request.headers['content-type'] ?? '')) return 415;
    const chunks: Buffer[] = [];
    let size = 0;
    for await (const chunk of request) {
      size += chunk.length;
      if (size <= largest) chunks.push(chunk);
    }
    if (size > largest) return tooLarge;
    const body = bytes(chunks);
    const genuine = isGenuine(request, body);
    if (!genuine && storesBefore === 'nothing') return 401;
    let event: Event;
    try {
      event = JSON.parse(Buffer.concat(chunks).toString());
    } catch {
      return notJson;
    }
    if (dies(event)) await stop();
    const status = answer(event, rows);
    if (status !== 200) return status;
    const work = (): void | Promise<void> => store(event, Buffer.concat(chunks).toString());
    if (storesLater) waiting.push(work);
    else await work();
    return genuine ? 200 : 401;
  };

  const server = createServer(async (request: IncomingMessage, response: ServerResponse) => {
    running += 1;
    // Requests that arrive together are counted together.
    if (Number.isFinite(atOnce)) await otherRequests();
    // A truncated request has no answer.
    const status = running > atOnce ? 503 : await handle(request).catch(() => 499);
    running -= 1;
    request.resume();
    const { socket } = request;
    const requests = (perSocket.get(socket) ?? 0) + 1;
    perSocket.set(socket, requests);
    isOver ||= givesUp && requests > 1;
    if (status === 0) socket.destroy();
    else response.writeHead(status).end(() => afterwards(socket));
  });
  const { url, close } = await serve(server);
  return {
    url: `${url}/webhooks`,
    async observe() {
      looks += 1;
      // The worker behind it.
      if (looks % worksEvery === 0) {
        const queued = waiting.splice(0);
        for (const work of reorders ? queued.toReversed() : queued) await work();
      }
      return shows(rows);
    },
    async restart() {
      // What waits for a worker is stored.
      if (worksEvery === 1) waiting = [];
      memory.clear();
    },
    close: stop,
  };
}
