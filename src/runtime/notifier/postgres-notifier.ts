import type { Clock } from '../clock/clock.ts';
import type { Queryable } from '../database/database.ts';
import { canListen, startListener } from '../database/listener.ts';
import { LocalDelivery } from './local-delivery.ts';
import type { Notifier } from './notifier.ts';

export interface PostgresNotifierOptions {
  readonly database: Queryable;
  readonly databaseUrl: string;
  /** The name of the channel, in a-z, 0-9 and -. */
  readonly prefix: string;
  readonly clock: Clock;
  readonly onError: (error: unknown) => void;
}

/** Maximum number of notifications per statement. */
const MAX_CONCURRENT = 500;
const DEADLINE_MS = 5_000;
const SEND = 'select pg_notify($1, n) from unnest($2::text[]) n';

/**
 * Carries notifications by NOTIFY. A process that subscribes to a topic itself is notified directly, without the
 * database, so NOTIFY is used only for work that another process must do: a `web` process queues, a `worker` works.
 */
export function createPostgresNotifier(options: PostgresNotifierOptions): Notifier {
  const { database, databaseUrl, prefix, clock, onError } = options;
  const receives = canListen(databaseUrl);
  const local = new LocalDelivery(clock);
  const pending = new Set<string>();
  let listener: ReturnType<typeof startListener> | undefined;
  let sending: Promise<void> | undefined;
  let closed = false;

  function deliver(topic: string, key: string): void {
    if (local.has(topic)) void local.deliver(topic, key);
    else send(topic, key);
  }

  function send(topic: string, key: string): void {
    pending.add(JSON.stringify([topic, key]));
    sending ??= sendAll().catch(onError);
  }

  /** A notification that cannot be sent is lost; the work is found when a subscriber checks. */
  async function sendAll(): Promise<void> {
    // Calls at the same moment share a statement.
    await Promise.resolve();
    try {
      while (pending.size > 0) {
        const batch = [...pending].slice(0, MAX_CONCURRENT);
        for (const payload of batch) pending.delete(payload);
        await database.query(SEND, [prefix, batch], { deadlineMs: DEADLINE_MS });
      }
    } finally {
      // In the same turn as the last look at what is pending.
      sending = undefined;
    }
  }

  function onPayload(payload: string): void {
    const [topic, key] = readPayload(payload);
    if (topic !== undefined && key !== undefined) void local.deliver(topic, key);
  }

  function subscribe(topic: string, onNotified: (key: string) => Promise<void>): () => void {
    const listening = { url: databaseUrl, name: `${prefix}-notifier`, channel: prefix };
    if (receives && !closed) listener ??= startListener({ ...listening, clock, onPayload, onError });
    return local.subscribe(topic, onNotified);
  }

  return {
    receives,
    notify(topic, key, delayMs = 0) {
      if (closed) return;
      if (delayMs <= 0) deliver(topic, key);
      else local.after(delayMs, topic, key, () => deliver(topic, key));
    },
    subscribe,
    tell(topic, key) {
      if (!closed) send(topic, key);
    },
    hear: (topic, onTold) => subscribe(topic, async (key) => onTold(key)),
    async close() {
      closed = true;
      local.close();
      await Promise.all([listener?.close(), sending]);
    },
  };
}

/** Other programs may use the channel as well. */
function readPayload(payload: string): readonly (string | undefined)[] {
  try {
    const read: unknown = JSON.parse(payload);
    return Array.isArray(read) ? read.map((part) => (typeof part === 'string' ? part : undefined)) : [];
  } catch {
    return [];
  }
}
