import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { setImmediate } from 'node:timers/promises';
import { pollPairing, SHORTEST_WAIT_MS } from '../../../../src/patterns/pairing-poll.ts';
import { NOTHING_SEEN, type Page, walkCoverage } from '../../../../src/patterns/reconcile-walk.ts';
import { decideSend, readRetryAfter, type SendOutcome } from '../../../../src/patterns/send-policy.ts';
import { createSingleFlightRefresh, type Versioned } from '../../../../src/patterns/single-flight-refresh.ts';
import type { Clock } from '../../../../src/runtime/clock/clock.ts';
import { systemClock } from '../../../../src/runtime/clock/system-clock.ts';
import { serve } from '../../../../test/support/serve.ts';
import type { Wrong } from './wrong.ts';

const POLL_MS = 45_000;
const SEND_TIMEOUT_MS = 180_000;
const OVERLAP_MS = 60_000;
/** The service is holding a send that takes this long. */
const HELD_MS = 500;

interface Item {
  readonly id: string;
  readonly createdAt: number;
}

/** Possible mistakes. Without any of them, the integration is correct. */
export interface Mistakes {
  /** Time between two polls in milliseconds; null for none. */
  readonly pollMs?: number | null;
  /** Other connections that it polls, each by itself and between those of the others; no mistake. */
  readonly others?: readonly string[];
  /** How many pages of the list it reads. */
  readonly pages?: number;
  /** How it stores what a poll or an event reports. */
  readonly stores?: (rows: string[], id: string, by: 'poll' | 'event') => void;
  /** An event moves the watermark. */
  readonly eventMovesMark?: boolean;
  readonly newKeyOnRetry?: boolean;
  /** Misreads an answer. */
  readonly reads?: (outcome: SendOutcome, attempts: number) => SendOutcome;
  readonly sendTimeoutMs?: number;
  /** Sends once, whatever the answer. */
  readonly neverRepeats?: boolean;
  readonly refreshesAlone?: boolean;
  /** Time between two reads of a connection that is pairing. */
  readonly pairMs?: number;
  /** Time between two reads of the detail of its number, which is no mistake. */
  readonly detailMs?: number;
  /** Restarts a disconnected connection until it works. */
  readonly restartsAlways?: boolean;
}

/** An integration and what drives it. */
export interface GalleryIntegration {
  readonly webhookTarget: string;
  send(send: { readonly to: string; readonly text: string }): Promise<void>;
  pair(): Promise<void>;
  /** The messages that it has stored. */
  observe(): Promise<readonly { readonly id: string }[]>;
  /** Resolves when no call is in progress, except unanswered sends. */
  idle(): Promise<void>;
  close(): Promise<void>;
}

export interface IntegrationOptions {
  readonly baseUrl: string;
  readonly authUrl: string;
  readonly connectionId: string;
  readonly clock: Clock;
  /** The app and its tokens. */
  readonly app: { readonly clientId: string; readonly clientSecret: string };
  readonly tokens: { readonly access_token: string; readonly refresh_token: string };
}

function storeOnce(rows: string[], id: string): void {
  if (!rows.includes(id)) rows.push(id);
}

/** Starts an integration that is correct except for its mistakes. */
export async function startGalleryIntegration(
  options: IntegrationOptions,
  mistakes: Mistakes,
): Promise<GalleryIntegration> {
  const { baseUrl, authUrl, connectionId, clock, app } = options;
  const { pollMs = POLL_MS, pairMs = SHORTEST_WAIT_MS + 1_000, reads = (outcome) => outcome } = mistakes;
  const { stores = storeOnce } = mistakes;
  const over = new AbortController();
  const rows: string[] = [];
  const known = new Set<string>();
  const seen = new Set<string>();
  let coverage = NOTHING_SEEN;
  /** How many pages the current walk has read. */
  let pages = 0;
  let working = 0;
  /** Unanswered sends, with the time at which each began. */
  const open = new Set<number>();
  const rest = async (ms: number): Promise<void> => {
    working -= 1;
    await clock.sleep(ms, over.signal).finally(() => {
      working += 1;
    });
  };

  let stored: Versioned<string> = { version: 1, token: options.tokens.access_token };
  let refreshToken = options.tokens.refresh_token;
  async function renew(): Promise<Versioned<string>> {
    const form = { grant_type: 'refresh_token', refresh_token: refreshToken };
    const credential = { client_id: app.clientId, client_secret: app.clientSecret };
    const answer = await fetch(`${authUrl}/oauth/token`, {
      method: 'POST',
      body: new URLSearchParams({ ...form, ...credential }),
    });
    const body = (await answer.json()) as { access_token?: string; refresh_token?: string };
    if (body.access_token === undefined || body.refresh_token === undefined) throw new Error('no new tokens');
    refreshToken = body.refresh_token;
    stored = { version: stored.version + 1, token: body.access_token };
    return stored;
  }
  const tokens = createSingleFlightRefresh<string>({ load: async () => stored, renew });

  async function call(method: string, path: string, body?: object, signal = over.signal): Promise<Response> {
    const ask = (token: string): Promise<Response> =>
      fetch(`${baseUrl}${path}`, {
        method,
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        signal,
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
    const isRefused = (answer: Response): boolean =>
      answer.status === 401 && /invalid_token/.test(answer.headers.get('www-authenticate') ?? '');
    if (mistakes.refreshesAlone !== true) return await tokens.run(ask, isRefused);
    const answer = await ask(stored.token);
    if (!isRefused(answer)) return answer;
    return await ask((await renew()).token);
  }

  async function read(cursor: string | null): Promise<{ page: Page<Item> }> {
    const query = new URLSearchParams({ limit: '100', connectionId, ...(cursor === null ? {} : { cursor }) });
    const answer = await call('GET', `/messages?${query}`);
    if (answer.status !== 200) throw new Error(`GET /messages answered ${answer.status}`);
    const { messages, nextCursor, hasMore } = (await answer.json()) as {
      messages: { id: string; createdAt: string }[];
      nextCursor: string | null;
      hasMore: boolean;
    };
    const items = messages.map(({ id, createdAt }) => ({ id, createdAt: Date.parse(createdAt) }));
    pages = cursor === null ? 1 : pages + 1;
    const continues = pages < (mistakes.pages ?? Number.POSITIVE_INFINITY) && hasMore;
    return { page: { items, nextCursor, hasMore: continues } };
  }

  async function poll(): Promise<void> {
    const io = {
      read,
      hasSeen: async (items: readonly Item[]) =>
        items.every(({ id }) => seen.has(id) || (mistakes.eventMovesMark === true && known.has(id))),
      async commit(items: readonly Item[], progress: typeof coverage) {
        for (const { id } of items) {
          if (!seen.has(id)) stores(rows, id, 'poll');
          known.add(id);
          seen.add(id);
        }
        coverage = progress;
        return true;
      },
    };
    if (mistakes.eventMovesMark === true && coverage.watermark === Number.MAX_SAFE_INTEGER) {
      // What an event has reported is not looked up again.
      await read(null);
      return;
    }
    await walkCoverage(coverage, io, {
      overlapMs: OVERLAP_MS,
      latest: Number.MAX_SAFE_INTEGER,
      maxPages: 50,
    });
  }

  async function pollAlways(every: number): Promise<void> {
    for (;;) {
      await poll().catch(() => undefined);
      await rest(every);
    }
  }

  async function attempt(to: string, text: string, idempotencyKey: string): Promise<SendOutcome> {
    const late = new AbortController();
    const since = systemClock.elapsed();
    open.add(since);
    const cancel = clock.after(mistakes.sendTimeoutMs ?? SEND_TIMEOUT_MS, () => late.abort());
    try {
      const signal = AbortSignal.any([late.signal, over.signal]);
      const answer = await call('POST', '/messages', { connectionId, to, text, idempotencyKey }, signal);
      const body = (await answer.json()) as { error?: string; messageId?: string | null };
      if (answer.ok) return { kind: 'accepted', stored: body.messageId !== null };
      const retryAfterMs = readRetryAfter(answer.headers, clock.now());
      return { kind: 'refused', status: answer.status, code: body.error ?? '', retryAfterMs };
    } catch {
      return { kind: 'lost' };
    } finally {
      cancel();
      open.delete(since);
    }
  }

  async function deliver(to: string, text: string): Promise<void> {
    let key = randomUUID();
    let inDoubt = false;
    const firstAttemptAt = clock.now();
    for (let attempts = 1; ; attempts += 1) {
      const outcome = reads(await attempt(to, text, key), attempts);
      if (over.signal.aborted || mistakes.neverRepeats === true) return;
      const now = clock.now();
      const situation = { carries: 'text', attempts, firstAttemptAt, now, inDoubt, random: 0.5 } as const;
      const step = decideSend(outcome, situation);
      if (step.next !== 'repeat') return;
      inDoubt = step.inDoubt;
      if (mistakes.newKeyOnRetry === true) key = randomUUID();
      await rest(step.waitMs);
    }
  }

  async function showPairing(id: string): Promise<void> {
    const end = clock.elapsed() + 120_000;
    const io = {
      async read() {
        const answer = await call('GET', `/connections/${id}`);
        if (!answer.ok) {
          const { error: code = '' } = (await answer.json().catch(() => ({}))) as { error?: string };
          return { kind: 'refused', status: answer.status, code, retryAfterMs: null } as const;
        }
        const { connection } = (await answer.json()) as { connection: { status: string; qr?: string } };
        return { kind: 'detail', provider: 'qr', status: connection.status, qr: connection.qr } as const;
      },
      show: () => undefined,
      sleep: () => rest(pairMs),
      elapsed: () => clock.elapsed(),
      random: () => 0.5,
    };
    await pollPairing(io, end - clock.elapsed());
  }

  /** Polls other connections, each as often as its own. */
  async function pollOthers(every: number, ids: readonly string[]): Promise<void> {
    for (let turn = 0; ; turn += 1) {
      await rest(every / (ids.length + 1));
      const id = ids[turn % (ids.length + 1)];
      if (id !== undefined) await call('GET', `/messages?limit=1&connectionId=${id}`);
    }
  }

  async function readDetailAlways(every: number): Promise<void> {
    for (;;) {
      await call('GET', `/connections/${connectionId}`).catch(() => undefined);
      await rest(every);
    }
  }

  async function restartAlways(): Promise<void> {
    for (let restarts = 0; restarts < 10; restarts += 1) {
      await call('POST', `/connections/${connectionId}/restart`);
      await rest(5_000);
    }
  }

  const inBackground = (work: () => Promise<unknown>): void => {
    working += 1;
    void work()
      .catch(() => undefined)
      .finally(() => {
        working -= 1;
      });
  };

  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.once('end', () => {
      const event = JSON.parse(Buffer.concat(chunks).toString()) as {
        event: string;
        message: { id: string };
      };
      if (event.event === 'connection.disconnected' && mistakes.restartsAlways === true)
        inBackground(restartAlways);
      if (event.event === 'message.received') {
        known.add(event.message.id);
        stores(rows, event.message.id, 'event');
        if (mistakes.eventMovesMark === true) {
          coverage = { ...coverage, watermark: Number.MAX_SAFE_INTEGER };
        }
      }
      response.writeHead(200).end();
    });
  });
  const { url, close } = await serve(server);
  if (pollMs !== null) inBackground(() => pollAlways(pollMs));
  const { detailMs, others } = mistakes;
  if (pollMs !== null && others !== undefined) inBackground(() => pollOthers(pollMs, others));
  if (detailMs !== undefined) inBackground(() => readDetailAlways(detailMs));

  return {
    webhookTarget: url,
    async send({ to, text }) {
      inBackground(() => deliver(to, text));
    },
    async pair() {
      const answer = await call('POST', '/connections', { label: 'Certify' });
      const { connection } = (await answer.json()) as { connection: { id: string } };
      inBackground(() => showPairing(connection.id));
    },
    observe: async () => rows.map((id) => ({ id })),
    async idle() {
      const isHeld = (since: number): boolean => systemClock.elapsed() - since > HELD_MS;
      while (working > [...open].filter(isHeld).length) await setImmediate();
    },
    async close() {
      over.abort();
      await close();
    },
  };
}

const asFailed: SendOutcome = { kind: 'refused', status: 502, code: 'send_failed', retryAfterMs: 2_000 };
const repeats =
  (holds: (outcome: SendOutcome) => boolean) =>
  (outcome: SendOutcome, attempts: number): SendOutcome =>
    holds(outcome) && attempts < 3 ? asFailed : outcome;
const isRefused =
  (code: string) =>
  (outcome: SendOutcome): boolean =>
    outcome.kind === 'refused' && outcome.code === code;

/** Integrations that are correct except for one mistake. */
export const WRONG_INTEGRATIONS: Wrong<Mistakes> = {
  'It trusts events, and never polls.': {
    ways: { pollMs: null },
    told: /[Pp]oll GET \/messages every 30 to 60 s|keep polling/,
    fails: ['poll.often', 'poll.pages'],
  },
  'It polls every five minutes.': {
    ways: { pollMs: 300_000 },
    told: /Poll GET \/messages every 30 to 60 s|keep polling/,
    fails: ['poll.often', 'poll.pages'],
  },
  'It polls every five seconds.': {
    ways: { pollMs: 5_000 },
    told: /30 to 60 s are enough/,
    fails: ['poll.sparing'],
  },
  'It reads the first page, and never the next one.': {
    ways: { pages: 1 },
    told: /follow nextCursor/,
    fails: ['poll.pages'],
  },
  'It reads the first two pages, and never a third one.': {
    ways: { pages: 2 },
    told: /follow nextCursor/,
    fails: ['poll.pages'],
  },
  'It stores what a poll reports next to what an event has reported.': {
    ways: { stores: (rows, id) => void rows.push(id) },
    told: /a unique index on the message id/,
    fails: ['poll.past-event'],
  },
  'It reads all pages, and stores only what events report.': {
    ways: { stores: (rows, id, by) => void (by === 'event' && rows.push(id)) },
    told: /follow nextCursor/,
    fails: ['poll.pages'],
  },
  'It reads nothing older than the last event.': {
    ways: { eventMovesMark: true },
    told: /Only a poll may move the mark/,
    fails: ['poll.past-event'],
  },
  'It creates a new idempotencyKey for each attempt.': {
    ways: { newKeyOnRetry: true },
    told: /Create the key once/,
    fails: ['send.key'],
  },
  'It repeats a send whose answer was lost after two minutes.': {
    ways: {
      reads: (outcome) => (outcome.kind === 'lost' ? { ...asFailed, retryAfterMs: 100_000 } : outcome),
    },
    told: /try again with the same key/,
    fails: ['send.key'],
  },
  'It treats persisted false as a failure, and sends again.': {
    ways: { reads: repeats((outcome) => outcome.kind === 'accepted' && !outcome.stored) },
    told: /never send it again/,
    fails: ['send.not-persisted'],
  },
  'It repeats a send that was refused with 402.': {
    ways: { reads: repeats(isRefused('license_inactive')) },
    told: /Someone must pay/,
    fails: ['send.license'],
  },
  'It repeats a send to a number that is not on the network.': {
    ways: { reads: repeats(isRefused('recipient_not_on_whatsapp')) },
    told: /permanent for the number/,
    fails: ['send.absent'],
  },
  'It repeats a send although the key was refused.': {
    ways: { reads: repeats(isRefused('invalid_key')) },
    told: /hold all sends/,
    fails: ['send.key-refused'],
  },
  'It repeats a send after two seconds, whatever Retry-After says.': {
    ways: {
      reads: repeats(isRefused('rate_limited')),
    },
    told: /Wait as long as Retry-After/,
    fails: ['send.retry-after'],
  },
  'It gives up on a message after the first failure.': {
    ways: { neverRepeats: true },
    told: /try again with the same key/,
    fails: ['send.failed', 'send.key', 'send.retry-after'],
  },
  'It waits for a send for 30 s.': {
    ways: { sendTimeoutMs: 30_000 },
    told: /180 s or more/,
    fails: ['send.waits'],
  },
  'It asks for the QR code every 30 s.': {
    ways: { pairMs: 30_000 },
    told: /stale within seconds/,
    fails: ['pair.polls'],
  },
  'It restarts a connection that needs its owner every five seconds.': {
    ways: { restartsAlways: true },
    told: /only a scan by the owner helps/,
    fails: ['session.broken'],
  },
  'Each call that is refused refreshes the token, which ends the grant; then it repeats what is refused.': {
    ways: { refreshesAlone: true },
    told: /run one at a time|hold all sends/,
    fails: ['oauth.refresh', 'send.key-refused'],
  },
};
