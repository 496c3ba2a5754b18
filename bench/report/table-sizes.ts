import postgres from 'postgres';

/** As in docs/numbers.md. */
export const SIZES = `select replace(coalesce(pg_partition_root(c.oid), c.oid)::regclass::text, 'connector.', '') as "table",
       round(sum(pg_total_relation_size(c.oid)) / (select count(*) from connector.messages)) as bytes
  from pg_class c
 where c.relnamespace = 'connector'::regnamespace and c.relkind = 'r'
 group by 1 order by 2 desc limit 4`;

/** Bytes for each stored message in the largest tables of a connector, with their indexes. */
export async function measureSizes(databaseUrl: string): Promise<Record<string, number>> {
  const sql = postgres(databaseUrl, { max: 1 });
  try {
    const rows = await sql.unsafe<{ table: string; bytes: string }[]>(SIZES);
    return Object.fromEntries(rows.map(({ table, bytes }) => [table, Number(bytes)]));
  } finally {
    await sql.end({ timeout: 5 });
  }
}
