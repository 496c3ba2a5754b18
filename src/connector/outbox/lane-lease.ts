import type { Queryable } from '../../runtime/database/database.ts';
import type { Lease } from '../leases/lease.ts';
import { SEND_DEADLINE_MS } from '../service-client/service-client.ts';

/** A lane stays leased for longer than a call of its owner can last. */
export const LANE_TTL_MS = SEND_DEADLINE_MS + 60_000;

/** True for the row `l` of a lease whose holder is alive at the time in the parameter `now`. */
export function heldByLiving(now: string): string {
  return `(l.expires_at > ${now} AND EXISTS (
    SELECT FROM connector.senders s WHERE s.owner = l.owner AND s.expires_at > ${now}))`;
}

/** Name of the lease of a connection's lane. */
export function laneName(connectionId: string): string {
  return `send:${connectionId}`;
}

/**
 * Takes a lane unless a living process has it; null then. A process may take its own lane again, so it must not
 * run one twice at a time. Every write of the holder names the fence.
 */
export async function takeLane(
  db: Queryable,
  request: { readonly connectionId: string; readonly owner: string; readonly now: number },
): Promise<Lease | null> {
  const name = laneName(request.connectionId);
  const [row] = await db.query<{ fence: number }>(
    `insert into connector.leases as l (name, owner, fence, expires_at) values ($1, $2, 1, $4::bigint)
     on conflict (name) do update
       set owner = excluded.owner, fence = l.fence + 1, expires_at = excluded.expires_at
       where l.owner = excluded.owner or not ${heldByLiving('$3::bigint')}
     returning fence`,
    [name, request.owner, request.now, request.now + LANE_TTL_MS],
  );
  return row === undefined ? null : { name, fence: row.fence };
}
