import { and, eq, lte, sql } from 'drizzle-orm';
import { z } from 'zod';
import { LIMITS } from '../contract/service/limits.ts';
import type { PairedConnection } from '../platform/connections/connections.ts';
import { connections, licenses } from '../platform/db/core-tables.ts';
import type { ContactBehavior } from '../platform/network/contacts.ts';
import type { Platform } from '../platform/platform.ts';
import { orm } from '../runtime/database/orm.ts';
import { addLastingNumber, type SandboxStore } from './lasting-numbers.ts';

/** The seed's workspace and API key. The key is stored, because the service shows it only once. */
export const sandboxSeed = z.object({ workspaceId: z.string(), apiKey: z.string() });
export type SandboxSeed = z.infer<typeof sandboxSeed>;

/** Numbers of a range reserved for fiction. */
const CONNECTIONS: readonly PairedConnection[] = [
  { provider: 'qr', phoneNumber: '447700900101', label: 'Front desk' },
  { provider: 'qr', phoneNumber: '447700900102', label: 'Sales' },
  { provider: 'cloud_api', phoneNumber: '447700900104', label: 'Newsletter' },
];
/** The number with a trial. */
const ON_TRIAL: PairedConnection = { provider: 'qr', phoneNumber: '447700900103', label: 'Support' };

const CONTACTS: Readonly<Record<string, Partial<ContactBehavior>>> = {
  /** Receives and reads everything. */
  '447700900201': { deliverAfterMs: 300, readAfterMs: 1_500 },
  /** Receives everything, reads nothing. */
  '447700900202': { deliverAfterMs: 300, readAfterMs: null },
  /** Replies. */
  '447700900203': { deliverAfterMs: 300, readAfterMs: 1_000, autoReply: 'Thanks, got it!' },
  /** Cannot be reached: a send is accepted and fails later. */
  '447700900204': { deliverAfterMs: null, readAfterMs: null, failAfterMs: 2_000 },
  /** Has no account on the network. */
  '447700900205': { onNetwork: false },
};

/** Creates a standalone workspace with paired numbers, contacts with different behavior, and an API key. */
export async function createSeed(platform: Platform): Promise<SandboxSeed> {
  const { id: workspaceId } = await platform.workspaces.create({ kind: 'standalone' });
  for (const connection of CONNECTIONS) await addLastingNumber(platform, workspaceId, connection);
  await platform.connections.createPaired(workspaceId, ON_TRIAL);
  for (const [phone, behavior] of Object.entries(CONTACTS)) await platform.contacts.put(phone, behavior);
  const { key: apiKey } = await platform.apiKeys.create(workspaceId);
  return { workspaceId, apiKey };
}

/**
 * Begins a new trial for the number of an earlier start whose trial has expired, unless its license was changed:
 * one that nobody changed ends a trial's length after its creation. The new trial is therefore a new license.
 */
export async function renewTrial(
  { platform, database }: SandboxStore,
  { workspaceId }: SandboxSeed,
): Promise<void> {
  const now = platform.time.now();
  const isNumber = and(
    eq(connections.workspaceId, workspaceId),
    eq(connections.phoneNumber, ON_TRIAL.phoneNumber),
  );
  const isUnchanged = eq(licenses.expiresAt, sql`${licenses.createdAt} + ${LIMITS.trialMs}`);
  const expired = await orm(database)
    .select({ id: connections.id })
    .from(connections)
    .innerJoin(licenses, eq(licenses.connectionId, connections.id))
    .where(and(isNumber, eq(licenses.kind, 'trial'), lte(licenses.expiresAt, now), isUnchanged));
  for (const { id } of expired) {
    await platform.licenses.set(id, { status: 'none' });
    await platform.licenses.set(id, { status: 'trial' });
  }
}
