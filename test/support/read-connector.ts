import postgres from 'postgres';
import { systemClock } from '../../src/runtime/clock/system-clock.ts';
import type { MessageState } from './check-invariants.ts';

/** The contents of a connector's database, read with SQL. */
export interface StoredState {
  readonly messages: MessageState[];
  /** Bodies in the raw log. */
  readonly logged: ReadonlySet<string>;
  /** Changes that have no number yet. */
  readonly unnumbered: number;
}

/** Reads messages, raw log and the rest that waits for a number from a connector's database. */
export async function readStoredState(databaseUrl: string): Promise<StoredState> {
  return await withSql(databaseUrl, async (sql) => {
    const messages = await sql<MessageState[]>`
      select connection_id as "connectionId", id, direction, peer, text, media_url as "mediaUrl", status
        from connector.messages order by connection_id, id`;
    const log = await sql<{ body: string }[]>`
      select distinct convert_from(body, 'UTF8') as body from connector.inbox`;
    const [rest] = await sql<{ unnumbered: number }[]>`
      select count(*)::int4 as unnumbered
        from connector.changes c left join connector.change_batches b on b.id = c.batch
       where b.last_seq is null`;
    return { messages, logged: new Set(log.map(({ body }) => body)), unnumbered: rest?.unnumbered ?? 0 };
  });
}

const LOOK_EVERY_MS = 100;

/** Resolves when every send is finished. */
export async function untilSent(databaseUrl: string): Promise<void> {
  await withSql(databaseUrl, async (sql) => {
    const readOpen = () => sql`select from connector.outbound where state in ('queued', 'sending') limit 1`;
    while ((await readOpen()).length > 0) await systemClock.sleep(LOOK_EVERY_MS);
  });
}

/** Runs `work` on a separate connection. */
export async function withSql<T>(url: string, work: (sql: postgres.Sql) => Promise<T>): Promise<T> {
  const sql = postgres(url, {
    max: 1,
    onnotice: () => undefined,
    connection: { application_name: 'campaign' },
  });
  try {
    return await work(sql);
  } finally {
    await sql.end({ timeout: 1 });
  }
}
