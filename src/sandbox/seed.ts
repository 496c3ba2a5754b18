import { z } from 'zod';
import { LIMITS } from '../contract/service/limits.ts';
import type { PairedConnection } from '../platform/connections/connections.ts';
import type { ContactBehavior } from '../platform/network/contacts.ts';
import type { Platform } from '../platform/platform.ts';
import { addLastingNumber, listTrials, makeLasting, type SandboxStore } from './lasting-numbers.ts';

/** The seed's workspace and API key. The key is stored, because the service shows it only once. */
export const sandboxSeed = z.object({ workspaceId: z.string(), apiKey: z.string() });
export type SandboxSeed = z.infer<typeof sandboxSeed>;

/** Numbers of a range reserved for fiction. */
const CONNECTIONS: readonly PairedConnection[] = [
  { provider: 'qr', phoneNumber: '447700900101', label: 'Front desk' },
  { provider: 'qr', phoneNumber: '447700900102', label: 'Sales' },
  { provider: 'cloud_api', phoneNumber: '447700900104', label: 'Newsletter' },
];
/** The number with a trial. A start of the sandbox after the trial has expired begins a new one. */
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
 * Renews licenses in the seed of an earlier start: in data of older versions, all its numbers have a trial of seven
 * days. Other numbers, and licenses that were changed, are not affected.
 */
export async function healSeed(
  { platform, database }: SandboxStore,
  { workspaceId }: SandboxSeed,
): Promise<void> {
  const lasting = CONNECTIONS.map(({ phoneNumber }) => phoneNumber);
  const now = platform.time.now();
  for (const trial of await listTrials(database, workspaceId)) {
    if (lasting.includes(trial.phoneNumber ?? '')) await makeLasting(platform, trial);
    else if (trial.phoneNumber === ON_TRIAL.phoneNumber && trial.expiresAt <= now) {
      await platform.licenses.set(trial.id, { status: 'trial', expiresAt: now + LIMITS.trialMs });
    }
  }
}
