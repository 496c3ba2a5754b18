import { eq } from 'drizzle-orm';
import { z } from 'zod';
import { connections } from '../platform/db/core-tables.ts';
import { orm } from '../runtime/database/orm.ts';
import { addLastingNumber, type SandboxStore } from './lasting-numbers.ts';
import { storeValue } from './state-store.ts';

/** A number in a separate workspace with its own key, so its events do not reach any other connector. */
const selfCheckNumber = z.object({ workspaceId: z.string(), connectionId: z.string(), apiKey: z.string() });

/** Finds the number of an earlier start, or creates it. */
export async function ensureSelfCheckNumber({ platform, database }: SandboxStore) {
  const stored = storeValue(database, 'self_check', selfCheckNumber);
  const known = await stored.load();
  const stands = await orm(database).$count(connections, eq(connections.id, known?.connectionId ?? ''));
  if (known !== null && stands > 0) return known;
  const { id: workspaceId } = await platform.workspaces.create({ kind: 'standalone' });
  const { id: connectionId } = await addLastingNumber(platform, workspaceId, {
    provider: 'qr',
    phoneNumber: '447700900112',
    label: 'Self-check',
  });
  const { key: apiKey } = await platform.apiKeys.create(workspaceId);
  const made = { workspaceId, connectionId, apiKey };
  await stored.save(made);
  return made;
}
