import { and, desc, eq, isNotNull, isNull } from 'drizzle-orm';
import type { Clock } from '../../runtime/clock/clock.ts';
import { abortAfter } from '../../runtime/clock/deadline.ts';
import type { Queryable } from '../../runtime/database/database.ts';
import { orm } from '../../runtime/database/orm.ts';
import { connections } from '../db/schema.ts';
import { createServiceClient, type ServiceClient } from '../service-client/service-client.ts';
import { ServiceError, ServiceRefusal } from '../service-client/service-errors.ts';
import type { IssuedTokens } from './authorization-server.ts';

/** The outcome of a consent that would have put different numbers into an account. */
export const OTHER_NUMBERS = 'other_numbers';
/** Maximum number of an account's numbers that are read one by one. */
const MAX_ASKED = 20;
/** How long the page of a new account waits for its numbers. */
const NUMBERS_WITHIN_MS = 4_000;

/** A number as it is shown to people. */
export interface GrantedNumber {
  readonly phoneNumber: string | null;
  readonly label: string | null;
}

/** What a new grant covers. */
export interface GrantCheck {
  /** Why the grant does not renew its account; null if it may be stored. */
  readonly objection: string | null;
  /** Also empty if the service does not report them. */
  readonly numbers: readonly GrantedNumber[];
}

/**
 * Checks what a grant covers before it is stored. The service names no workspace, so a renewal is compared by
 * connections: it must cover at least one that its account has listed, unless the account has none. A new
 * account accepts any grant; if the service does not answer, its page only lacks the numbers. Throws what the
 * database throws.
 */
export async function checkGrant(
  {
    database,
    baseUrl,
    clock,
  }: { readonly database: Queryable; readonly baseUrl: string; readonly clock: Clock },
  accountId: string | null,
  { accessToken }: IssuedTokens,
): Promise<GrantCheck> {
  const client = createServiceClient({ baseUrl, token: () => accessToken, clock });
  const known = accountId === null ? [] : await readListed(database, accountId);
  if (known.length === 0) return { objection: null, numbers: await listWithin(client, clock) };
  try {
    const { items } = await client.listConnections();
    const granted = new Set(items.map(({ id }) => id));
    if (known.some((id) => granted.has(id))) return { objection: null, numbers: items };
    // A connection whose license has ended is not listed.
    for (const id of known.slice(0, MAX_ASKED))
      if (await isGranted(client, id)) return { objection: null, numbers: items };
    return { objection: OTHER_NUMBERS, numbers: [] };
  } catch (error) {
    if (error instanceof ServiceError) return { objection: error.code, numbers: [] };
    throw error;
  }
}

/** The stored numbers of an account. Throws as `query` does. */
export async function readNumbers(db: Queryable, accountId: string): Promise<GrantedNumber[]> {
  const { accountId: of, phoneNumber, label, visible, deletedAt, connectionId } = connections;
  return await orm(db)
    .select({ phoneNumber, label })
    .from(connections)
    .where(and(eq(of, accountId), eq(visible, true), isNull(deletedAt)))
    .orderBy(phoneNumber, connectionId);
}

async function listWithin(client: ServiceClient, clock: Clock): Promise<readonly GrantedNumber[]> {
  try {
    return (await abortAfter(clock, NUMBERS_WITHIN_MS, (signal) => client.listConnections(signal))).items;
  } catch (error) {
    if (error instanceof ServiceError) return [];
    throw error;
  }
}

/** The connections that an account has ever listed, including hidden ones. */
async function readListed(db: Queryable, accountId: string): Promise<string[]> {
  const { accountId: of, visible, deletedAt, listedAt, connectionId } = connections;
  const rows = await orm(db)
    .select({ connectionId })
    .from(connections)
    .where(and(eq(of, accountId), isNotNull(listedAt), isNull(deletedAt)))
    .orderBy(desc(visible), connectionId);
  return rows.map((row) => row.connectionId);
}

/** Throws a `ServiceError` if the service does not report them. */
async function isGranted(client: ServiceClient, id: string): Promise<boolean> {
  try {
    await client.getConnection(id);
    return true;
  } catch (error) {
    const isDecided = error instanceof ServiceRefusal && !error.mayHaveActed;
    if (isDecided && (error.status === 403 || error.status === 404)) return false;
    throw error;
  }
}
