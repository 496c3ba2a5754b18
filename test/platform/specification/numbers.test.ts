import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTestSandbox, type TestSandbox } from '../../sandbox/fixture.ts';
import { proves } from '../../support/proves.ts';

const SECOND = 1_000;
const DAY = 86_400_000;

let nextNumber = 447700900300;
const newNumber = (): string => String(nextNumber++);

describe('numbers and slots', () => {
  let bed: TestSandbox;
  beforeAll(async () => {
    bed = await startTestSandbox();
    await bed.call('POST', '/clock/freeze');
  });
  afterAll(() => bed.close());

  /** A standalone workspace, and calls with a key of it. */
  async function addWorkspace(slots: number) {
    const { id } = (await bed.call('POST', '/workspaces', { kind: 'standalone', slots })).body.workspace;
    const { key } = (await bed.call('POST', `/workspaces/${id}/api-keys`, {})).body;
    // biome-ignore lint/suspicious/noExplicitAny: answers are looked into by field
    const ask = async (method: string, path: string, body?: unknown): Promise<any> =>
      (await bed.service.call(method, path, { key, ...(body === undefined ? {} : { body }) })).body;
    return {
      id: id as string,
      ask,
      account: () => ask('GET', '/account'),
      create: async (): Promise<string> => (await ask('POST', '/connections')).connection.id,
      detail: async (connectionId: string) => (await ask('GET', `/connections/${connectionId}`)).connection,
    };
  }

  type Workspace = Awaited<ReturnType<typeof addWorkspace>>;

  async function scan(connectionId: string, qr: string, phoneNumber = newNumber()) {
    const { status, body } = await bed.call('POST', `/connections/${connectionId}/scan`, { qr, phoneNumber });
    return status === 200 ? 'paired' : body.error;
  }

  async function pair(workspace: Workspace): Promise<string> {
    const id = await workspace.create();
    expect(await scan(id, (await workspace.detail(id)).qr)).toBe('paired');
    return id;
  }

  const advance = (ms: number) => bed.call('POST', '/clock/advance', { ms });

  test(
    'a number pairs by QR code or by pairing code; before that it is counted, not listed, and takes no slot',
    proves(
      'service.qr.pairs',
      'service.slot.attaches',
      'state.created.claims-nothing',
      'state.paired.scan',
      'state.paired.code',
      'choice.unpaired',
      'choice.next-expiry',
    ),
    async () => {
      const workspace = await addWorkspace(5);
      const [one, two] = [await workspace.create(), await workspace.create()];
      expect(await workspace.ask('GET', '/connections')).toEqual({ connections: [] });
      expect(await workspace.account()).toEqual({
        slots: { total: 5, used: 0, available: 5, nextExpiry: null },
        connections: { total: 2, connected: 0, needsReconnect: 0 },
      });
      expect(await scan(one, (await workspace.detail(one)).qr)).toBe('paired');
      const phoneNumber = newNumber();
      const { code } = await workspace.ask('POST', `/connections/${two}/pairing-code`, { phoneNumber });
      expect((await bed.call('POST', `/connections/${two}/enter-code`, { code })).status).toBe(200);
      expect([(await workspace.detail(one)).status, (await workspace.detail(two)).status]).toEqual([
        'connected',
        'connected',
      ]);
      expect((await workspace.ask('GET', '/connections')).connections).toHaveLength(2);
      expect(await workspace.account()).toMatchObject({
        slots: { used: 2, available: 3, nextExpiry: expect.any(String) },
        connections: { total: 2, connected: 2 },
      });
    },
  );

  test(
    'a QR code that a later read replaced is valid for its 20 s, and no longer',
    proves('choice.qr.earlier', 'limits.qr-rotation', 'connections.get.qr-new'),
    async () => {
      const workspace = await addWorkspace(5);
      const id = await workspace.create();
      const first = (await workspace.detail(id)).qr;
      await advance(10 * SECOND);
      const second = (await workspace.detail(id)).qr;
      expect(second).not.toBe(first);
      await advance(30 * SECOND);
      expect([await scan(id, first), await scan(id, second)]).toEqual(['qr_expired', 'qr_expired']);
      const earlier = (await workspace.detail(id)).qr;
      await workspace.detail(id);
      expect(await scan(id, earlier)).toBe('paired');
    },
  );

  test(
    'a cloud_api number never pairs',
    proves('service.cloud-api.no-pairing', 'connections.pairing-code.qr-only'),
    async () => {
      const workspace = await addWorkspace(5);
      const body = { provider: 'cloud_api', phoneNumber: newNumber() };
      const made = await bed.call('POST', `/workspaces/${workspace.id}/connections`, body);
      const { id } = made.body.connection;
      expect(await workspace.detail(id)).not.toHaveProperty('qr');
      expect(
        await workspace.ask('POST', `/connections/${id}/pairing-code`, { phoneNumber: '447700900399' }),
      ).toEqual({ error: 'not_supported_for_provider' });
      const { qr } = await workspace.detail(await workspace.create());
      expect(await scan(id, qr)).toBe('not_supported_for_provider');
    },
  );

  test(
    'a logout is shown as disconnected and sends no event',
    proves('choice.logout.silent', 'choice.logout.status', 'state.logout.record', 'state.logout.return'),
    async () => {
      const workspace = await addWorkspace(5);
      const id = await pair(workspace);
      await workspace.ask('POST', `/connections/${id}/logout`);
      const { status, phoneNumber } = await workspace.detail(id);
      expect(status).toBe('disconnected');
      await advance(DAY);
      await workspace.ask('POST', `/connections/${id}/restart`);
      expect(await scan(id, (await workspace.detail(id)).qr, phoneNumber)).toBe('paired');
      expect((await workspace.detail(id)).status).toBe('connected');
      const { entries } = (await bed.call('GET', '/ledger?limit=1000')).body;
      expect(entries.filter((entry: { connectionId: string }) => entry.connectionId === id)).toEqual([]);
    },
  );

  test(
    'a slot belongs to no number: the next number takes its remaining time, and an unused one starts a trial',
    proves(
      'service.slot.capacity',
      'service.slot.returns',
      'state.delete.slot',
      'choice.slot.inherited',
      'choice.next-expiry',
      'limits.trial',
      'service.standalone.trial',
    ),
    async () => {
      const workspace = await addWorkspace(2);
      const start = bed.service.platform.time.now();
      const inDays = (days: number): string => new Date(start + days * DAY).toISOString();
      const first = await pair(workspace);
      expect((await workspace.detail(first)).licenseExpires).toBe(inDays(7));
      await advance(2 * DAY);
      await workspace.ask('DELETE', `/connections/${first}`);
      const heir = await workspace.detail(await pair(workspace));
      expect([heir.licenseStatus, heir.licenseExpires]).toEqual(['trial', inDays(7)]);
      const fresh = await workspace.detail(await pair(workspace));
      expect([fresh.licenseStatus, fresh.licenseExpires]).toEqual(['trial', inDays(9)]);
      expect((await workspace.account()).slots).toEqual({
        total: 2,
        used: 2,
        available: 0,
        nextExpiry: inDays(7),
      });
    },
  );
});
