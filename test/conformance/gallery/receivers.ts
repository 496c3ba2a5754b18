import { createHmac, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';

export const SECRET = 'whsec_Z2FsbGVyeS1zZWNyZXQ=';
export const OLD_SECRET = 'whsec_b2xkLWdhbGxlcnktc2VjcmV0';

const WINDOW_MS = 5 * 60_000;
const RANKS: Readonly<Record<string, number>> = { sent: 1, delivered: 2, read: 3, failed: 4 };

/** A message as a receiver stores it. */
interface Row {
  readonly id: string;
  status: string | null;
}

type Event = Readonly<Record<string, unknown>> & {
  readonly event?: string;
  readonly message?: { readonly id: string; readonly status?: string; readonly text?: unknown };
};

/** Possible mistakes. Without any of them, the receiver is correct. */
export interface Mistakes {
  readonly secrets?: readonly string[];
  /** The bytes that are verified, made from the chunks of the body. */
  readonly bytes?: (chunks: readonly Buffer[]) => Buffer;
  /** Whether a digest is correct. */
  readonly same?: (given: string, right: string) => boolean;
  /** What is not verified at all. */
  readonly trusts?: (request: IncomingMessage) => boolean;
  /** Which signature counts if a request has several. */
  readonly pick?: (values: readonly string[]) => string | undefined;
  /** Whether a timestamp has the right form. */
  readonly form?: (timestamp: string) => boolean;
  /** Whether a signature of this age, in milliseconds, counts. */
  readonly fresh?: (ageMs: number) => boolean;
  readonly largest?: number;
  readonly tooLarge?: number;
  /** The status for an event, instead of 200. */
  readonly answer?: (event: Event, rows: readonly Row[]) => number;
  /** The status for a body that is not JSON. */
  readonly notJson?: number;
  /** The status for other methods than POST. */
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
  readonly insert?: (rows: Row[], row: Row) => void | Promise<void>;
  readonly update?: (rows: Row[], id: string, status: string) => void;
}

/** A running receiver. */
export interface GalleryReceiver {
  readonly url: string;
  /** Its contents, as an observer reads them. */
  observe(): Promise<readonly Row[]>;
  /** Like `kill -9` and a restart: what is not stored is lost. */
  restart(): Promise<void>;
  close(): Promise<void>;
}

const HEX = /^sha256=([0-9a-f]{64})$/i;

/** Resolves when requests of the same moment have arrived. */
async function otherRequests(): Promise<void> {
  for (let turn = 0; turn < 50; turn += 1) await setImmediate();
}

/** Inserts a row unless it exists, as with a unique index. */
function insertOnce(rows: Row[], row: Row): void {
  if (!rows.some(({ id }) => id === row.id)) rows.push(row);
}

/** Moves a status forward, and stores the status of an unknown message. */
function moveForward(rows: Row[], id: string, status: string): void {
  const row = rows.find((one) => one.id === id);
  if (row === undefined) rows.push({ id, status });
  else if (row.status !== 'read' && (RANKS[status] ?? 0) > (RANKS[row.status ?? ''] ?? 0))
    row.status = status;
}

/** Starts a receiver that is correct except for its mistakes. */
export async function startGalleryReceiver(mistakes: Mistakes): Promise<GalleryReceiver> {
  const {
    secrets = [SECRET],
    bytes = Buffer.concat,
    same = (given, right) => timingSafeEqual(Buffer.from(given, 'hex'), Buffer.from(right, 'hex')),
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
    update = moveForward,
  } = mistakes;
  const rows: Row[] = [];
  let waiting: (() => void | Promise<void>)[] = [];
  let running = 0;
  let isOver = false;
  const perSocket = new WeakMap<Socket, number>();

  const isGenuine = (request: IncomingMessage, body: Buffer): boolean => {
    if (trusts(request)) return true;
    const timestamp = pick(request.headersDistinct['x-service-timestamp'] ?? []);
    const signature = pick(request.headersDistinct['x-service-signature'] ?? []);
    if (timestamp === undefined || signature === undefined || !form(timestamp)) return false;
    if (!fresh(Date.now() - Number(timestamp))) return false;
    const given = mistakes.same === undefined ? HEX.exec(signature)?.[1] : signature.slice('sha256='.length);
    if (given === undefined) return false;
    const sign = (secret: string) =>
      createHmac('sha256', secret).update(`${timestamp}.`).update(body).digest('hex');
    return secrets.some((secret) => same(given, sign(secret)));
  };

  const store = (event: Event): void | Promise<void> => {
    const { message } = event;
    if (message === undefined) return;
    if (event.event === 'message.received') return insert(rows, { id: message.id, status: null });
    if (event.event === 'message.status' && Object.hasOwn(RANKS, message.status ?? '')) {
      update(rows, message.id, message.status ?? '');
    }
  };

  const handle = async (request: IncomingMessage): Promise<number> => {
    if (isOver) return 503;
    if (request.method !== 'POST') return otherMethod;
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
    const status = answer(event, rows);
    if (status !== 200) return status;
    if (storesLater) waiting.push(() => store(event));
    else await store(event);
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
    response.writeHead(status).end(() => afterwards(socket));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/webhooks`,
    async observe() {
      // The worker behind it.
      for (const work of waiting.splice(0)) await work();
      return rows;
    },
    async restart() {
      waiting = [];
    },
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

/** A receiver of the gallery. */
export interface WrongReceiver {
  readonly name: string;
  /** What it does wrong, in one sentence. */
  readonly mistake: string;
  readonly mistakes: Mistakes;
  /** The checks that it fails, and no others. */
  readonly fails: readonly string[];
}

const serialized = (chunks: readonly Buffer[]): Buffer => {
  const text = Buffer.concat(chunks).toString();
  try {
    return Buffer.from(JSON.stringify(JSON.parse(text)));
  } catch {
    return Buffer.from(text);
  }
};

/** Receivers that are correct except for one mistake. */
export const WRONG_RECEIVERS: readonly WrongReceiver[] = [
  {
    name: 'verifies the parsed body',
    mistake: 'It parses the body, serializes it again, and verifies that.',
    mistakes: { bytes: serialized },
    fails: [
      'signature.raw-bytes.duplicate-keys',
      'signature.raw-bytes.escapes',
      'signature.raw-bytes.key-order',
      'signature.raw-bytes.numbers',
      'signature.raw-bytes.white-space',
    ],
  },
  {
    name: 'verifies as Latin-1',
    mistake: 'It decodes the body with another charset before it verifies.',
    mistakes: { bytes: (chunks) => Buffer.from(Buffer.concat(chunks).toString('latin1')) },
    fails: ['body.in-two-parts', 'payload.long-text', 'signature.raw-bytes.non-ascii'],
  },
  {
    name: 'decodes each chunk',
    mistake: 'It decodes each chunk of the body separately, and splits characters.',
    mistakes: { bytes: (chunks) => Buffer.from(chunks.map((chunk) => chunk.toString()).join('')) },
    fails: ['body.in-two-parts'],
  },
  {
    name: 'never verifies',
    mistake: 'It accepts every request.',
    mistakes: { trusts: () => true },
    fails: [
      'effects.forged',
      'rotation.old-secret',
      'signature.body-changed',
      'signature.empty',
      'signature.missing',
      'signature.short',
      'signature.timestamp-changed',
      'signature.trailing',
      'signature.two-values',
      'signature.wrong-secret',
      'timestamp.future',
      'timestamp.missing',
      'timestamp.not-a-number',
      'timestamp.stale',
    ],
  },
  {
    name: 'verifies only what is signed',
    mistake: 'It verifies a signature if there is one.',
    mistakes: { trusts: ({ headers }) => headers['x-service-signature'] === undefined },
    fails: ['signature.missing'],
  },
  {
    name: 'ignores the timestamp',
    mistake: 'It verifies the signature but not its age.',
    mistakes: { fresh: () => true },
    fails: ['timestamp.future', 'timestamp.stale'],
  },
  {
    name: 'has a one-sided window',
    mistake: 'It refuses old signatures, and accepts those from far in the future.',
    mistakes: { fresh: (ageMs) => ageMs <= WINDOW_MS },
    fails: ['timestamp.future'],
  },
  {
    name: 'has too small a window',
    mistake: 'It refuses what was signed a minute ago.',
    mistakes: { fresh: (ageMs) => Math.abs(ageMs) <= 60_000 },
    fails: ['timestamp.recent'],
  },
  {
    name: 'refuses the future',
    mistake: 'It refuses what is signed a moment ahead of its clock.',
    mistakes: { fresh: (ageMs) => ageMs <= WINDOW_MS && ageMs > -1_000 },
    fails: ['timestamp.ahead'],
  },
  {
    name: 'compares with NaN',
    mistake: 'It does not check that the timestamp is a number, and NaN is never too old.',
    mistakes: { form: () => true, fresh: (ageMs) => !(Math.abs(ageMs) > WINDOW_MS) },
    fails: ['timestamp.not-a-number'],
  },
  {
    name: 'compares the beginning',
    mistake: 'It compares as many characters as were sent.',
    mistakes: { same: (given, right) => right.startsWith(given) },
    fails: ['signature.empty', 'signature.short'],
  },
  {
    name: 'decodes hex leniently',
    mistake: 'It decodes the digest with a function that stops at the first character that is not hex.',
    mistakes: { same: (given, right) => Buffer.from(given, 'hex').toString('hex') === right },
    fails: ['signature.trailing'],
  },
  {
    name: 'trusts the first of two headers',
    mistake: 'It takes the first value of a repeated header.',
    mistakes: { pick: ([first]) => first },
    fails: ['signature.two-values'],
  },
  {
    name: 'keeps the old secret',
    mistake: 'It accepts the secret that was valid before the rotation.',
    mistakes: { secrets: [SECRET, OLD_SECRET] },
    fails: ['rotation.old-secret'],
  },
  {
    name: 'refuses unknown types',
    mistake: 'It answers 500 for event types that it does not know.',
    mistakes: {
      answer: ({ event }) => (/^(?:message\.(?:received|status)|connection\.)/.test(event ?? '') ? 200 : 500),
    },
    fails: ['payload.unknown-event'],
  },
  {
    name: 'refuses unknown fields',
    mistake: 'It validates with a schema that allows no other fields.',
    mistakes: { answer: (event) => ('added_later' in event || 'note' in event ? 422 : 200) },
    fails: ['payload.unknown-fields', 'signature.raw-bytes.duplicate-keys'],
  },
  {
    name: 'requires a text',
    mistake: 'It validates with a schema in which the text is required.',
    mistakes: {
      answer: ({ event, message }) => (event === 'message.received' && message?.text === null ? 422 : 200),
    },
    fails: ['payload.null-fields'],
  },
  {
    name: 'refuses unknown statuses',
    mistake: 'It validates with a schema that lists the statuses.',
    mistakes: { answer: ({ message }) => (message?.status === 'played' ? 422 : 200) },
    fails: ['payload.unknown-status'],
  },
  {
    name: 'knows only messages',
    mistake: 'It answers 404 for events of connections.',
    mistakes: { answer: ({ event }) => (event?.startsWith('connection.') ? 404 : 200) },
    fails: ['payload.connected', 'payload.disconnected'],
  },
  {
    name: 'refuses statuses of unknown messages',
    mistake: 'It answers 404 for the status of a message that it does not have yet.',
    mistakes: {
      answer: ({ event, message }, rows) =>
        event === 'message.status' && !rows.some(({ id }) => id === message?.id) ? 404 : 200,
    },
    fails: [
      'delivery.out-of-order',
      'effects.status.failed',
      'effects.status.first',
      'effects.status.late',
      'effects.status.repeated',
      'effects.status.rises',
      'payload.message-status',
      'payload.unknown-status',
    ],
  },
  {
    name: 'calls a copy a conflict',
    mistake: 'It answers 409 for a delivery that it already has.',
    mistakes: {
      answer: ({ event, message }, rows) =>
        event === 'message.received' && rows.some(({ id }) => id === message?.id) ? 409 : 200,
    },
    fails: ['delivery.repeated'],
  },
  {
    name: 'has too small a limit',
    mistake: 'It accepts bodies of at most 10 kB.',
    mistakes: { largest: 10_000 },
    fails: ['payload.long-text'],
  },
  {
    name: 'fails at its limit',
    mistake: 'It answers 500 for a body that is too large.',
    mistakes: { tooLarge: 500 },
    fails: ['body.large'],
  },
  {
    name: 'throws the error of the parser',
    mistake: 'It answers 500 for a body that is not JSON.',
    mistakes: { notJson: 500 },
    fails: ['body.none', 'body.not-json'],
  },
  {
    name: 'throws for other methods',
    mistake: 'It answers 500 to GET.',
    mistakes: { otherMethod: 500 },
    fails: ['method.get'],
  },
  {
    name: 'sheds load',
    mistake: 'It answers 503 to more than 10 requests at once.',
    mistakes: { atOnce: 10 },
    fails: ['delivery.at-once'],
  },
  {
    name: 'hangs up',
    mistake: 'It closes the connection after each answer without announcing it.',
    mistakes: { afterwards: (socket) => socket.destroy() },
    fails: ['connection.kept'],
  },
  {
    name: 'gives up',
    mistake: 'It answers only 503 after the second request on a connection.',
    mistakes: { givesUp: true },
    fails: [
      'delivery.afterwards',
      'effects.killed',
      'effects.once',
      'effects.once-at-once',
      'effects.status.failed',
      'effects.status.first',
      'effects.status.late',
      'effects.status.repeated',
      'effects.status.rises',
    ],
  },
  {
    name: 'has the wrong secret',
    mistake: 'It has the secret that was valid before the rotation.',
    mistakes: { secrets: [OLD_SECRET] },
    fails: [
      'body.in-two-parts',
      'connection.kept',
      'delivery.afterwards',
      'delivery.at-once',
      'delivery.out-of-order',
      'delivery.repeated',
      'effects.killed',
      'effects.once',
      'effects.once-at-once',
      'effects.status.failed',
      'effects.status.first',
      'effects.status.late',
      'effects.status.repeated',
      'effects.status.rises',
      'payload.connected',
      'payload.disconnected',
      'payload.long-text',
      'payload.message-received',
      'payload.message-status',
      'payload.null-fields',
      'payload.unknown-event',
      'payload.unknown-fields',
      'payload.unknown-status',
      'rotation.old-secret',
      'signature.raw-bytes.duplicate-keys',
      'signature.raw-bytes.escapes',
      'signature.raw-bytes.key-order',
      'signature.raw-bytes.non-ascii',
      'signature.raw-bytes.numbers',
      'signature.raw-bytes.white-space',
      'timestamp.ahead',
      'timestamp.recent',
    ],
  },
  {
    name: 'stores before it verifies',
    mistake: 'It refuses a wrong signature after it has stored the event.',
    mistakes: { storesBefore: 'verified' },
    fails: ['effects.forged'],
  },
  {
    name: 'acknowledges before it stores',
    mistake: 'It answers, and stores the event afterwards from memory.',
    mistakes: { storesLater: true },
    fails: ['effects.killed'],
  },
  {
    name: 'inserts every copy',
    mistake: 'It has no unique index and does not search for copies.',
    mistakes: { insert: (rows, row) => void rows.push(row) },
    fails: ['effects.once', 'effects.once-at-once'],
  },
  {
    name: 'checks, then inserts',
    mistake: 'It searches for a copy, and inserts in a second step.',
    mistakes: {
      async insert(rows, row) {
        const isThere = rows.some(({ id }) => id === row.id);
        await otherRequests();
        if (!isThere) rows.push(row);
      },
    },
    fails: ['effects.once-at-once'],
  },
  {
    name: 'lets the last status win',
    mistake: 'It stores the status that arrived last.',
    mistakes: { update: (rows, id, status) => setStatus(rows, id, () => status) },
    fails: ['effects.status.failed', 'effects.status.late', 'effects.status.repeated'],
  },
  {
    name: 'compares statuses as text',
    mistake: 'It stores a status if it comes later in the alphabet.',
    mistakes: {
      update: (rows, id, status) =>
        setStatus(rows, id, (before) => (before === null || status > before ? status : before)),
    },
    fails: [
      'effects.status.failed',
      'effects.status.late',
      'effects.status.repeated',
      'effects.status.rises',
    ],
  },
  {
    name: 'lets a message recover',
    mistake: 'Its ladder has no place for failed, so that any other status replaces it.',
    mistakes: {
      update: (rows, id, status) =>
        setStatus(rows, id, (before) => (before === 'failed' || isHigher(status, before) ? status : before)),
    },
    fails: ['effects.status.failed'],
  },
  {
    name: 'drops early statuses',
    mistake: 'It answers 200 to the status of an unknown message, and forgets it.',
    mistakes: {
      update(rows, id, status) {
        if (rows.some((row) => row.id === id)) moveForward(rows, id, status);
      },
    },
    fails: [
      'effects.status.failed',
      'effects.status.first',
      'effects.status.late',
      'effects.status.repeated',
      'effects.status.rises',
    ],
  },
];

function isHigher(status: string, before: string | null): boolean {
  return (RANKS[status] ?? 0) > (RANKS[before ?? ''] ?? 0);
}

/** Sets the status of a message, which may not exist yet. */
function setStatus(rows: Row[], id: string, decide: (before: string | null) => string | null): void {
  insertOnce(rows, { id, status: null });
  const row = rows.find((one) => one.id === id);
  if (row !== undefined) row.status = decide(row.status);
}
