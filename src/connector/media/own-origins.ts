import type { Queryable } from '../../runtime/database/database.ts';

/** The origins of the services that the accounts name: their base URLs' scheme, host and port. */
export async function readOwnOrigins(db: Queryable): Promise<ReadonlySet<string>> {
  const rows = await db.query<{ baseUrl: string }>(
    'select distinct base_url as "baseUrl" from connector.accounts where base_url is not null',
  );
  return new Set(rows.map(({ baseUrl }) => new URL(baseUrl).origin));
}
