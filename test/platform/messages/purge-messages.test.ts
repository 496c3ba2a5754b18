import { expect, it } from 'vitest';
import { ofFile } from '../../support/of-file.ts';
import { seedWorkspace, startTestPlatform } from '../../support/platform.ts';

const TEXTS = 1_000;
const FILES = 60;

const service = ofFile(startTestPlatform);

const count = async (table: string, condition: string, params: readonly unknown[]): Promise<number> => {
  const rows = await service.database.query<{ total: number }>(
    `SELECT count(*)::int AS total FROM platform.${table} WHERE ${condition}`,
    params,
  );
  return rows[0]?.total ?? -1;
};

/** Outgoing messages `<name>1` and on, some with a file. */
async function fill(
  name: string,
  { workspaceId, connectionId }: { workspaceId: string; connectionId: string },
) {
  await service.database.query(
    `INSERT INTO platform.messages (id, workspace_id, connection_id, direction, peer, text, media_id,
       media_type, status, receipts, created_at)
     SELECT $3 || n, $1, $2, 'outgoing', '4915800000001', 'x', CASE WHEN n <= $5 THEN $3 || n END, NULL, 'sent', 1, $6
     FROM generate_series(1, $4::int + $5::int) AS n`,
    [workspaceId, connectionId, name, TEXTS, FILES, service.platform.time.now()],
  );
  await service.database.query(
    `INSERT INTO platform.media_bytes (media_id, bytes)
     SELECT $1 || n, 'x' FROM generate_series(1, $2::int) AS n`,
    [name, FILES],
  );
}

it('a deletion removes all messages of the connection with their files, and none of others', async () => {
  const gone = await seedWorkspace(service);
  const kept = await seedWorkspace(service);
  await fill('gone', gone);
  await fill('kept', kept);
  const deleted = await service.call('DELETE', `/connections/${gone.connectionId}`, { key: gone.key });
  expect(deleted.status).toBe(200);
  expect(await count('messages', 'connection_id = $1', [gone.connectionId])).toBe(0);
  expect(await count('media_bytes', `media_id LIKE 'gone%'`, [])).toBe(0);
  expect(await count('messages', 'connection_id = $1', [kept.connectionId])).toBe(TEXTS + FILES);
  expect(await count('media_bytes', `media_id LIKE 'kept%'`, [])).toBe(FILES);
});
