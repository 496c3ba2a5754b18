import { LIMITS } from '../../../contract/service/limits.ts';
import type { Queryable } from '../../../runtime/database/database.ts';
import type { StateChange } from '../../time/state-change.ts';

/** Notes that a number with a past works in a workspace: it needs no warm-up. */
export async function noteKnownNumber(
  { tx }: StateChange,
  workspaceId: string,
  phoneNumber: string,
): Promise<void> {
  await tx.query(
    `INSERT INTO platform.paired_numbers (workspace_id, phone_number, warmup_until)
     VALUES ($1, $2, NULL) ON CONFLICT DO NOTHING`,
    [workspaceId, phoneNumber],
  );
}

/**
 * Starts the warm-up of a number that pairs for the first time in its workspace, and writes its end to the
 * connection. A number that paired before keeps what it had, also when its connection was deleted and made
 * anew. [service.qr.warmup] [limits.warmup]
 */
export async function startWarmup(
  { tx, now }: StateChange,
  { id, workspaceId }: { readonly id: string; readonly workspaceId: string },
  phoneNumber: string,
): Promise<void> {
  await tx.query(
    `INSERT INTO platform.paired_numbers (workspace_id, phone_number, warmup_until)
     VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`,
    [workspaceId, phoneNumber, now + LIMITS.warmupMs],
  );
  await tx.query(
    `UPDATE platform.connections SET warmup_until =
       (SELECT warmup_until FROM platform.paired_numbers WHERE workspace_id = $2 AND phone_number = $3)
     WHERE id = $1`,
    [id, workspaceId, phoneNumber],
  );
}

/** Whether a connection of the workspace, other than `id`, has this number, paired or logged out. */
export async function isTaken(
  { tx }: StateChange,
  { id, workspaceId }: { readonly id?: string; readonly workspaceId: string },
  phoneNumber: string,
): Promise<boolean> {
  const others = await tx.query(
    `SELECT 1 FROM platform.connections
     WHERE workspace_id = $1 AND phone_number = $2 AND id IS DISTINCT FROM $3 LIMIT 1`,
    [workspaceId, phoneNumber, id ?? null],
  );
  return others.length > 0;
}

/** The range that a regulator sets aside for films and books, after the numbers of the seed. */
const FICTION = { prefix: '447700900', first: 300, count: 700 };

/**
 * The number of an owner who names none: one of nobody in the workspace, the same for the same connection
 * while it is free. Null when all are taken.
 */
export async function inventNumber(
  db: Queryable,
  { id, workspaceId }: { readonly id: string; readonly workspaceId: string },
): Promise<string | null> {
  const rows = await db.query<{ phone_number: string }>(
    `SELECT phone_number FROM platform.connections
     WHERE workspace_id = $1 AND phone_number LIKE $2 || '%'`,
    [workspaceId, FICTION.prefix],
  );
  const taken = new Set(rows.map((row) => row.phone_number));
  const start = [...id].reduce((sum, character) => (sum * 31 + character.charCodeAt(0)) % FICTION.count, 0);
  for (let step = 0; step < FICTION.count; step += 1) {
    const number = `${FICTION.prefix}${FICTION.first + ((start + step) % FICTION.count)}`;
    if (!taken.has(number)) return number;
  }
  return null;
}
