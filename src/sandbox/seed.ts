import { z } from 'zod';
import type { PairedConnection } from '../platform/connections/connections.ts';
import type { ContactBehaviour } from '../platform/network/contacts.ts';
import type { Platform } from '../platform/platform.ts';

/** What the sandbox begins with, as far as others need it. The key is kept: it is shown only once. */
export const sandboxSeed = z.object({ workspaceId: z.string(), apiKey: z.string() });
export type SandboxSeed = z.infer<typeof sandboxSeed>;

/** Numbers of the ranges that regulators set aside for films and books. */
const CONNECTIONS: readonly PairedConnection[] = [
  { provider: 'qr', phoneNumber: '447700900101', label: 'Front desk' },
  { provider: 'qr', phoneNumber: '447700900102', label: 'Sales' },
  { provider: 'qr', phoneNumber: '447700900103', label: 'Support' },
  { provider: 'cloud_api', phoneNumber: '447700900104', label: 'Newsletter' },
];

const CONTACTS: Readonly<Record<string, Partial<ContactBehaviour>>> = {
  /** Gets and reads everything. */
  '447700900201': { deliverAfterMs: 300, readAfterMs: 1_500 },
  /** Gets everything, reads nothing. */
  '447700900202': { deliverAfterMs: 300, readAfterMs: null },
  /** Answers. */
  '447700900203': { deliverAfterMs: 300, readAfterMs: 1_000, autoReply: 'Thanks, got it!' },
  /** Cannot be reached: a send is taken and fails later. */
  '447700900204': { deliverAfterMs: null, readAfterMs: null, failAfterMs: 2_000 },
  /** Has no account on the network. */
  '447700900205': { onNetwork: false },
};

/** Makes a standalone workspace with paired numbers, people who behave in different ways, and a key for all. */
export async function createSeed(platform: Platform): Promise<SandboxSeed> {
  const { id: workspaceId } = await platform.workspaces.create({ kind: 'standalone' });
  for (const connection of CONNECTIONS) await platform.connections.createPaired(workspaceId, connection);
  for (const [phone, behaviour] of Object.entries(CONTACTS)) await platform.contacts.put(phone, behaviour);
  const { key: apiKey } = await platform.apiKeys.create(workspaceId);
  return { workspaceId, apiKey };
}
