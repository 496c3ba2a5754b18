import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { serve } from '../../../../test/support/serve.ts';
import { otherRequests, SECRET } from './receiver.ts';
import type { Wrong } from './wrong.ts';

/** What a consumer keeps. `down` is a database that does not answer; `memory` is lost when the process dies. */
interface Store {
  readonly keys: Set<string>;
  rows: { readonly id: string; readonly text: string }[];
  readonly memory: Set<string>;
  down: boolean;
}

interface Entry {
  readonly key: string;
  readonly change: {
    readonly type: string;
    readonly data: { readonly id: string; readonly text: string; readonly addedLater?: object };
  };
}

/** What differs from the plain consumer, which is correct. */
interface Ways {
  /** The bytes that are verified. */
  readonly bytes?: (chunks: readonly Buffer[]) => Buffer;
  /** Whether the header of the signatures contains the right one. */
  readonly matches?: (header: string, right: string) => boolean;
  readonly trusts?: (request: IncomingMessage) => boolean;
  readonly fresh?: (ageSeconds: number) => boolean;
  readonly largest?: number;
  /** The changes of a body. */
  readonly read?: (content: Partial<Entry> & { readonly changes?: readonly Entry[] }) => readonly Entry[];
  /** The status for a change, unless it is taken. */
  readonly refuses?: (entry: Entry, store: Store) => number | undefined;
  /** How many requests run at a time; beyond that, none is answered in time. */
  readonly atOnce?: number;
  readonly afterwards?: (socket: Socket, requests: number, store: Store) => void;
  readonly take?: (store: Store, entry: Entry, webhookId: string) => void | Promise<void>;
}

/** Adds the effect of a change, which is a message. Throws if the database is down. */
function store(to: Store, { change }: Entry): void {
  if (to.down) throw new Error('the database is down');
  if (change.type === 'message.created') to.rows.push(change.data);
}

/** Key and effect in one transaction. */
function takeOnce(to: Store, entry: Entry, key = entry.key): void {
  if (to.keys.has(key)) return;
  store(to, entry);
  to.keys.add(key);
}

const signaturesOf = (header: string): readonly string[] => header.split(' ');
const isSame = (given: string, right: string): boolean =>
  given.length === right.length && timingSafeEqual(Buffer.from(given), Buffer.from(right));

/** Starts a consumer that is correct except for its mistake. `whenLate` is called when a request is not answered. */
export async function startConsumer(ways: Ways, whenLate: () => void = () => undefined) {
  const {
    bytes = Buffer.concat,
    matches = (header, right) => signaturesOf(header).some((each) => isSame(each, right)),
    trusts = () => false,
    fresh = (age) => Math.abs(age) <= 300,
    largest = 4_000_000,
    read = ({ key = '', change, changes }) => changes ?? (change === undefined ? [] : [{ key, change }]),
    refuses = () => undefined,
    atOnce = Number.POSITIVE_INFINITY,
    afterwards = () => undefined,
    take = (to, entry) => takeOnce(to, entry),
  } = ways;
  const kept: Store = { keys: new Set(), rows: [], memory: new Set(), down: false };
  const requests = new WeakMap<Socket, number>();
  let running = 0;

  const isGenuine = ({ headers }: IncomingMessage, body: Buffer): boolean => {
    const [id = '', at = '', given = ''] = ['id', 'timestamp', 'signature'].map((name) =>
      headers[`webhook-${name}`]?.toString(),
    );
    if (!/^\d+$/.test(at) || !fresh(Date.now() / 1_000 - Number(at))) return false;
    const key = Buffer.from(SECRET.slice('whsec_'.length), 'base64');
    const right = createHmac('sha256', key).update(`${id}.${at}.`).update(body).digest('base64');
    return matches(given, `v1,${right}`);
  };

  const answer = async (request: IncomingMessage): Promise<number> => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    if (Buffer.concat(chunks).length > largest) return 413;
    if (!trusts(request) && !isGenuine(request, bytes(chunks))) return 401;
    const entries = read(JSON.parse(Buffer.concat(chunks).toString()));
    if (entries.length === 0) return 400;
    for (const entry of entries) {
      const refusal = refuses(entry, kept);
      if (refusal !== undefined) return refusal;
      await take(kept, entry, String(request.headers['webhook-id']));
    }
    return 204;
  };

  const server = createServer(async (request: IncomingMessage, response: ServerResponse) => {
    if (request.method === 'GET') return response.end(JSON.stringify(kept.rows));
    running += 1;
    if (Number.isFinite(atOnce)) await otherRequests();
    const isLate = running > atOnce;
    const status = isLate ? 0 : await answer(request).catch(() => 500);
    running -= 1;
    if (isLate) return whenLate();
    const count = (requests.get(request.socket) ?? 0) + 1;
    requests.set(request.socket, count);
    response.writeHead(status).end(() => afterwards(request.socket, count, kept));
  });
  const { url, close } = await serve(server);
  return {
    url: `${url}/changes`,
    observe: async () => kept.rows,
    restart: async () => kept.memory.clear(),
    storage: async (action: string) => {
      kept.down = action === 'stop';
    },
    close,
  };
}

const hasType =
  (...types: readonly string[]) =>
  ({ change }: Entry) =>
    types.includes(change.type);

/** Consumers that are correct except for one mistake. */
export const WRONG_CONSUMERS: Wrong<Ways> = {
  'It decodes the body as Latin-1 before it verifies.': {
    ways: { bytes: (chunks) => Buffer.from(Buffer.concat(chunks).toString('latin1')) },
    told: /No known mistake/,
    fails: ['change.message'],
  },
  'It answers 422 to changes that are about no message.': {
    ways: { refuses: (entry) => (hasType('connection.updated', 'person.erased')(entry) ? 422 : undefined) },
    told: /in the default branch too/,
    fails: ['change.types'],
  },
  'It answers 400 to types that it does not know.': {
    ways: { refuses: (entry) => (hasType('reaction.created')(entry) ? 400 : undefined) },
    told: /in the default branch too/,
    fails: ['change.unknown'],
  },
  'It answers 400 to fields that it does not know.': {
    ways: { refuses: ({ change }) => (change.data.addedLater === undefined ? undefined : 400) },
    told: /in the default branch too/,
    fails: ['change.unknown'],
  },
  'It answers 409 to a key that it has.': {
    ways: { refuses: ({ key }, { keys }) => (keys.has(key) ? 409 : undefined) },
    told: /and to what you have already/,
    fails: ['attempt.later'],
  },
  'It reads only bodies with one change.': {
    ways: { read: ({ key = '', change }) => (change === undefined ? [] : [{ key, change }]) },
    told: /even if it is one/,
    fails: ['batch.list'],
  },
  'It refuses bodies of more than 100 kB.': {
    ways: { largest: 100_000 },
    told: /100 long texts/,
    fails: ['batch.list'],
  },
  'It compares the whole header with its signature.': {
    ways: { matches: isSame },
    told: /one of the signatures, separated by spaces/,
    fails: ['rotation.both'],
  },
  'It looks only at the first signature.': {
    ways: { matches: (header, right) => isSame(signaturesOf(header)[0] ?? '', right) },
    told: /one of the signatures, separated by spaces/,
    fails: ['rotation.both'],
  },
  'It accepts the beginning of a digest.': {
    ways: {
      matches: (header, right) => signaturesOf(header).some((each) => each !== '' && right.startsWith(each)),
    },
    told: /the whole digest/,
    fails: ['signature.invalid'],
  },
  'It accepts every request that has two signatures.': {
    ways: {
      matches: (header, right) =>
        signaturesOf(header).length === 2 || signaturesOf(header).some((each) => isSame(each, right)),
    },
    told: /Compute the HMAC/,
    fails: ['signature.invalid'],
  },
  'It verifies a signature if there is one.': {
    ways: { trusts: ({ headers }) => headers['webhook-signature'] === undefined },
    told: /Compute the HMAC/,
    fails: ['signature.missing'],
  },
  'It does not look at the timestamp.': {
    ways: { fresh: () => true },
    told: /refuse more than 5 minutes/,
    fails: ['timestamp.stale', 'timestamp.future'],
  },
  'It refuses only timestamps that are too old.': {
    ways: { fresh: (age) => age <= 300 },
    told: /in both directions/,
    fails: ['timestamp.future'],
  },
  'It does not answer in time if more than ten requests come at once.': {
    ways: { atOnce: 10 },
    told: /the connector waits 30 s/,
    fails: ['delivery.at-once'],
  },
  'It decodes each chunk of the body separately.': {
    ways: { bytes: (chunks) => Buffer.from(chunks.map((chunk) => chunk.toString()).join('')) },
    told: /concatenate bytes|even if it is one/,
    fails: ['batch.list', 'body.in-two-parts'],
  },
  'It closes the connection after its answer, without saying so.': {
    ways: { afterwards: (socket) => socket.destroy() },
    told: /close the connection with the answer/,
    fails: ['connection.kept'],
  },
  'It is broken after two requests on one connection.': {
    ways: {
      afterwards(_, count, kept) {
        kept.down ||= count === 2;
      },
    },
    told: /Its process has ended|No known mistake|An earlier check/,
    fails: ['delivery.afterwards'],
  },
  'It answers, and stores nothing.': {
    ways: { take: () => undefined },
    told: /only then answer/,
    fails: ['effects.stored'],
  },
  'It reads all messages, adds one, and writes them back.': {
    ways: {
      async take(to, entry) {
        const copy = { ...to, rows: [...to.rows] };
        takeOnce(copy, entry);
        await otherRequests();
        to.rows = copy.rows;
      },
    },
    told: /do not read, change and write a shared list|INSERT/,
    fails: ['effects.at-once', 'effects.once'],
  },
  'It looks the key up, and stores it some time later.': {
    ways: {
      async take(to, entry) {
        if (to.keys.has(entry.key)) return;
        await otherRequests();
        store(to, entry);
        to.keys.add(entry.key);
      },
    },
    told: /ON CONFLICT DO NOTHING/,
    fails: ['effects.once'],
  },
  'It recognizes repetitions by the header webhook-id.': {
    ways: {
      take(to, entry, webhookId) {
        if (to.keys.has(webhookId)) return;
        store(to, entry);
        if (webhookId === entry.key) to.keys.add(webhookId);
      },
    },
    told: /The webhook-id of a list identifies no change/,
    fails: ['effects.once-in-list'],
  },
  'It stores the key before the effect, and keeps it if the effect fails.': {
    ways: {
      take(to, entry) {
        if (to.keys.has(entry.key)) return;
        to.keys.add(entry.key);
        store(to, entry);
      },
    },
    told: /let nothing of the attempt stay/,
    fails: ['effects.after-trouble'],
  },
  'It answers 2xx to what it could not store.': {
    ways: {
      take(to, entry) {
        if (!to.down) takeOnce(to, entry);
      },
    },
    told: /Answer 5xx if you cannot store/,
    fails: ['effects.after-trouble'],
  },
  'It has the keys only in memory.': {
    ways: { take: (to, entry) => takeOnce({ ...to, keys: to.memory }, entry) },
    told: /recognized only in memory/,
    fails: ['effects.killed'],
  },
};
