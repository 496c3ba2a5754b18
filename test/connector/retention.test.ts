import { afterEach, beforeEach, expect, it } from 'vitest';
import { startRetention } from '../../src/connector/retention.ts';
import { createPresence, type Presence } from '../../src/connector/work/presence.ts';
import type { Database } from '../../src/runtime/database/database.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { openConnectorDatabase, silentLogger } from './support/event-fixtures.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

let opened: Awaited<ReturnType<typeof openConnectorDatabase>>;
let processes: ForgettingProcess[] = [];

beforeEach(async () => {
  opened = await openConnectorDatabase();
});
afterEach(async () => {
  for (const { stop, presence } of processes) {
    await stop();
    await presence.stop();
  }
  processes = [];
  await opened.close();
});

interface ForgettingProcess {
  readonly clock: ManualClock;
  readonly presence: Presence;
  /** The statements that it has sent. */
  readonly sent: string[];
  /** Those that were answered. */
  readonly answered: string[];
  stop(): Promise<void>;
}

/** `held`: its deletions wait until this resolves. */
async function start(held: Promise<void> = Promise.resolve()): Promise<ForgettingProcess> {
  const sent: string[] = [];
  const answered: string[] = [];
  const database: Database = Object.create(opened.database, {
    query: {
      value: async (...statement: Parameters<Database['query']>) => {
        const text = statement[0].trim();
        sent.push(text);
        if (isDeletion(text)) await held;
        const rows = await opened.database.query(...statement);
        answered.push(text);
        return rows;
      },
    },
  });
  const clock = new ManualClock();
  const presence = createPresence({ database, clock, logger: silentLogger, works: true });
  await presence.start();
  const { stop } = startRetention({ database, clock, logger: silentLogger, presence });
  const process = { clock, presence, sent, answered, stop };
  processes.push(process);
  return process;
}

const isDeletion = (text: string): boolean =>
  /^\s*delete from "?connector"?\."?(outbound|creations)/i.test(text);
const deletions = ({ sent }: ForgettingProcess): number => sent.filter(isDeletion).length;
const turns = ({ sent }: ForgettingProcess): number =>
  sent.filter((text) => text.startsWith('INSERT INTO connector.leases')).length;

it('old data is deleted at the start and every hour', async () => {
  const { database } = opened;
  const addOld = () =>
    database.query(
      `insert into connector.creations (id, account_id, idempotency_key, created_at)
       values (gen_random_uuid(), 'gone', '', $1)`,
      [Date.UTC(2026, 0, 15, 12) - 91 * DAY],
    );
  const count = async () => (await database.query('select from connector.creations')).length;
  await addOld();
  const process = await start();
  await expect.poll(count).toBe(0);
  await addOld();
  // The next turn is an hour after the end of this one.
  const isReleased = (text: string) => text.startsWith('DELETE FROM connector.leases');
  await expect.poll(() => process.answered.some(isReleased)).toBe(true);
  await process.clock.advance(HOUR);
  await expect.poll(count).toBe(0);
});

it('old data is deleted by one process at a time, and the others skip their turn', async () => {
  const gate = Promise.withResolvers<void>();
  const busy = await start(gate.promise);
  await expect.poll(() => deletions(busy)).toBe(1);
  const other = await start();
  await expect.poll(() => turns(other)).toBe(1);
  gate.resolve();
  await busy.stop();
  expect(deletions(other)).toBe(0);
  await other.clock.advance(HOUR);
  await expect.poll(() => deletions(other)).toBeGreaterThan(0);
});
