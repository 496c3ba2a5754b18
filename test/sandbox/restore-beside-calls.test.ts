import { beforeEach, expect, it } from 'vitest';
import { ofFile } from '../support/of-file.ts';
import { type Caller, createCaller } from '../support/read-lists.ts';
import { startTestService } from '../support/service.ts';

const test = ofFile(startTestService);
let snapshot: string;
beforeEach(async () => {
  ({ id: snapshot } = await test.sandbox<{ id: string }>('POST', '/snapshots', {}));
});

const restore = () => test.sandbox('POST', `/snapshots/${snapshot}/restore`);

/** Calls the service with the present key. */
async function presentClient(): Promise<Caller> {
  const { apiKey, baseUrl } = await test.sandbox<{ apiKey: string; baseUrl: string }>('GET', '/info');
  return createCaller(baseUrl, apiKey);
}

const listConnections = async (client: Caller) =>
  (await client<{ connections: { id: string }[] }>('GET', '/connections')).connections;

it('a reset during a restore empties nothing under the service that was restored', async () => {
  const reset = () => test.sandbox('POST', '/reset').catch(String);
  await Promise.all([restore(), reset(), reset(), restore(), reset()]);
  expect(await listConnections(await presentClient())).toHaveLength(4);
});

it('a restore does not wait until clients pause, and their sends have receipts afterwards', async () => {
  /** Calls that clients may still make. */
  let left = 600;
  const client = await presentClient();
  const [connection] = await listConnections(client);
  const body = { connectionId: connection?.id, to: '447700900201', text: 'hello' };
  const callOn = async (): Promise<void> => {
    while (left-- > 0) await client('POST', '/messages', body).catch(() => undefined);
  };
  const clients = [callOn(), callOn(), callOn()];
  await test.sandbox('POST', '/wait', { list: 'messages', q: 'direction:outgoing', count: 3 });
  await restore();
  expect(left).toBeGreaterThan(0);
  left = 0;
  await Promise.all(clients);
  await test.sandbox('POST', '/clock/advance', { ms: 60_000 });
  const { entries } = await test.sandbox<{ entries: object[] }>('GET', '/messages?q=status:sent');
  expect(entries).toEqual([]);
});

it('a trial that had expired is expired again after a restore', async () => {
  const reset = await test.sandbox<{ workspaceId: string }>('POST', '/reset');
  const readLicense = async (): Promise<unknown> => {
    const { entries } = await test.sandbox<{ entries: { licenseStatus: string; licenseExpires: string }[] }>(
      'GET',
      `/connections?q=workspace:${reset.workspaceId}%20447700900103`,
    );
    return entries.map(({ licenseStatus, licenseExpires }) => [licenseStatus, licenseExpires]);
  };
  await test.sandbox('POST', '/clock/advance', { ms: 400 * 86_400_000 });
  const expired = await readLicense();
  const { id } = await test.sandbox<{ id: string }>('POST', '/snapshots', {});
  await test.sandbox('POST', `/snapshots/${id}/restore`);
  expect(expired).toEqual([['expired', expect.any(String)]]);
  expect(await readLicense()).toEqual(expired);
});

it('50 snapshots are kept, and another one once one of them is removed', async () => {
  const take = () => test.sandbox('POST', '/snapshots', {});
  const { entries } = await test.sandbox<{ entries: object[] }>('GET', '/snapshots');
  for (let taken = entries.length; taken < 50; taken += 1) await take();
  await expect(take()).rejects.toThrow('There are 50 snapshots: remove one first.');
  await test.sandbox('DELETE', `/snapshots/${snapshot}`);
  await take();
});
