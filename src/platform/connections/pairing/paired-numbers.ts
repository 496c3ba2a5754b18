import { and, eq, like, ne } from 'drizzle-orm';
import { LIMITS } from '../../../contract/service/limits.ts';
import type { Queryable } from '../../../runtime/database/database.ts';
import { orm } from '../../../runtime/database/orm.ts';
import { connections } from '../../db/core-tables.ts';
import { pairedNumbers } from '../../db/pairing-tables.ts';
import type { StateChange } from '../../time/state-change.ts';

/** Records that a number was used before, so that it needs no warm-up in the workspace. */
export async function noteKnownNumber(
  { tx }: StateChange,
  workspaceId: string,
  phoneNumber: string,
): Promise<void> {
  await orm(tx).insert(pairedNumbers).values({ workspaceId, phoneNumber }).onConflictDoNothing();
}

/**
 * Starts the warm-up of a number that pairs for the first time in its workspace, and writes its end to the
 * connection. A number that paired before keeps its end, even if its connection was deleted and created again.
 * [service.qr.warmup] [limits.warmup]
 */
export async function startWarmup(
  { tx, now }: StateChange,
  { id, workspaceId }: { readonly id: string; readonly workspaceId: string },
  phoneNumber: string,
): Promise<void> {
  const paired = { workspaceId, phoneNumber, warmupUntil: now + LIMITS.warmupMs };
  await orm(tx).insert(pairedNumbers).values(paired).onConflictDoNothing();
  const [first = paired] = await orm(tx)
    .select({ warmupUntil: pairedNumbers.warmupUntil })
    .from(pairedNumbers)
    .where(and(eq(pairedNumbers.workspaceId, workspaceId), eq(pairedNumbers.phoneNumber, phoneNumber)));
  await orm(tx).update(connections).set({ warmupUntil: first.warmupUntil }).where(eq(connections.id, id));
}

/** Whether a connection of the workspace, other than `id`, has this number, paired or logged out. */
export async function isTaken(
  { tx }: StateChange,
  { id, workspaceId }: { readonly id?: string; readonly workspaceId: string },
  phoneNumber: string,
): Promise<boolean> {
  const others = await orm(tx)
    .select({ id: connections.id })
    .from(connections)
    .where(
      and(
        eq(connections.workspaceId, workspaceId),
        eq(connections.phoneNumber, phoneNumber),
        id === undefined ? undefined : ne(connections.id, id),
      ),
    )
    .limit(1);
  return others.length > 0;
}

/** A range reserved by the regulator for fiction. It starts after the numbers of the seed. */
const FICTION = { prefix: '447700900', first: 300, count: 700 };

/**
 * A generated number for an owner who gives none: not used in the workspace, and the same for the same connection
 * while it is free. Null if all are taken.
 */
export async function generateNumber(
  db: Queryable,
  { id, workspaceId }: { readonly id: string; readonly workspaceId: string },
): Promise<string | null> {
  const rows = await orm(db)
    .select({ phoneNumber: connections.phoneNumber })
    .from(connections)
    .where(
      and(eq(connections.workspaceId, workspaceId), like(connections.phoneNumber, `${FICTION.prefix}%`)),
    );
  const taken = new Set(rows.map((row) => row.phoneNumber));
  const start = [...id].reduce((sum, character) => (sum * 31 + character.charCodeAt(0)) % FICTION.count, 0);
  for (let step = 0; step < FICTION.count; step += 1) {
    const number = `${FICTION.prefix}${FICTION.first + ((start + step) % FICTION.count)}`;
    if (!taken.has(number)) return number;
  }
  return null;
}
