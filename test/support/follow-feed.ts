import { request } from 'node:http';
import { systemClock } from '../../src/runtime/clock/system-clock.ts';
import { createEventParser } from '../../src/runtime/http-server/event-parser.ts';
import type { FeedChange } from './check-invariants.ts';
import type { LoadStatus } from './load-plan.ts';

export interface FeedReaderOptions {
  /** Resolves with the connector's address once it serves. Called again after each interruption. */
  readonly live: () => Promise<string>;
  readonly token: string;
}

/** A reader of `GET /v1/changes/stream` that keeps the last `seq`, as a CRM does. */
export interface FeedReader {
  /** Everything that it received, in order. */
  readonly changes: readonly FeedChange[];
  /** How often a stream was opened. */
  readonly streams: number;
  /** Resolves once a change that matches was read. Rejects when the reader cannot continue. */
  until(matches: (change: FeedChange) => boolean): Promise<void>;
  close(): Promise<void>;
}

/** A reader waits this long before it opens the next stream. */
const RETRY_MS = 20;

/** Reads the feed from its start, over any number of connections. */
export function followFeed({ live, token }: FeedReaderOptions): FeedReader {
  const closing = new AbortController();
  const closed = new Promise<undefined>((resolve) => {
    closing.signal.addEventListener('abort', () => resolve(undefined));
  });
  const changes: FeedChange[] = [];
  const waiting = new Set<() => void>();
  let streams = 0;

  function take(text: string): void {
    changes.push(readChange(JSON.parse(text)));
    for (const look of [...waiting]) look();
  }

  async function follow(): Promise<void> {
    while (!closing.signal.aborted) {
      const url = await Promise.race([live(), closed]);
      if (url === undefined) return;
      streams += 1;
      await readStream(`${url}/v1/changes/stream`, token, changes.at(-1)?.seq ?? 0, take, closing.signal);
      await systemClock.sleep(RETRY_MS);
    }
  }

  const over = follow();
  // Resolved by `until` and `close`.
  over.catch(() => undefined);
  return {
    changes,
    get streams() {
      return streams;
    },
    until(matches) {
      let checked = 0;
      const met = Promise.withResolvers<void>();
      const look = (): void => {
        for (; checked < changes.length; checked += 1) {
          const change = changes[checked];
          if (change !== undefined && matches(change)) met.resolve();
        }
      };
      waiting.add(look);
      look();
      return Promise.race([met.promise, over]).finally(() => waiting.delete(look));
    },
    async close() {
      closing.abort();
      await over;
    },
  };
}

/** Reads one stream to its end, however it ends. Only complete events count. */
function readStream(
  url: string,
  token: string,
  lastSeq: number,
  take: (data: string) => void,
  signal: AbortSignal,
): Promise<void> {
  return new Promise((resolve) => {
    const headers = { Authorization: `Bearer ${token}`, 'Last-Event-ID': String(lastSeq) };
    const outgoing = request(url, { headers, signal }, (answer) => {
      const parse = createEventParser();
      answer.setEncoding('utf8');
      answer.on('data', (chunk: string) => {
        for (const { data } of parse(chunk)) {
          if (data !== undefined) take(data);
        }
      });
      answer.once('error', () => resolve());
      answer.once('close', () => resolve());
    });
    outgoing.once('error', () => resolve());
    outgoing.end();
  });
}

const LONGEST_PAGE = 1_000;

/** Reads the whole feed from `GET /v1/changes`, page by page. */
export async function readFeed(url: string, token: string): Promise<FeedChange[]> {
  const feed: FeedChange[] = [];
  for (;;) {
    const after = feed.at(-1)?.seq ?? 0;
    const answer = await fetch(`${url}/v1/changes?after=${after}&limit=${LONGEST_PAGE}`, {
      headers: { Authorization: `Bearer ${token}` },
    });
    if (answer.status !== 200) throw new Error(`the feed answered ${answer.status}`);
    const page = (await answer.json()) as { changes: WireChange[]; hasMore: boolean };
    feed.push(...page.changes.map(readChange));
    if (!page.hasMore) return feed;
  }
}

interface WireChange {
  readonly seq: number;
  readonly type: string;
  readonly connectionId: string;
  readonly messageId?: string;
  readonly data: { readonly status?: LoadStatus | null; readonly previous?: LoadStatus | null };
}

function readChange({ seq, type, connectionId, messageId, data }: WireChange): FeedChange {
  const ofMessage = messageId !== undefined;
  return {
    seq,
    type,
    connectionId,
    messageId: messageId ?? null,
    status: (ofMessage ? data.status : null) ?? null,
    previous: (ofMessage ? data.previous : null) ?? null,
  };
}
