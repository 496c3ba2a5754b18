import { describe, expect, it } from 'vitest';
import { useHookedSandbox } from './hooked-sandbox.ts';

const hook = useHookedSandbox();
const HOUR = 3_600_000;
const iso = (ms: number): string => new Date(ms).toISOString();
const query = (q: string): string => `?q=${encodeURIComponent(q)}`;

const read = async (id: string) => (await hook.call('GET', `/connections/${id}`)).body;
const create = async (label: string): Promise<string> => {
  const { body } = await hook.api('POST', '/connections', { label });
  return (body as { connection: { id: string } }).connection.id;
};
const causes = async (id: string): Promise<string[]> =>
  (await read(id)).transitions.map(({ cause }: { cause: string }) => cause);

describe('GET /connections/{id}', () => {
  it('shows a new number: its license, slot, warm-up, phone and origin', async () => {
    await hook.call('PUT', '/timing', { sendScale: 0 });
    const at = hook.service.platform.time.now();
    const connectionId = await create('Desk');
    await hook.clock.advance(1_000);
    await hook.call('POST', `/connections/${connectionId}/scan`, { phoneNumber: '447700900150' });
    await hook.api('POST', '/messages', { connectionId, to: '447700900201', text: 'hello' });
    await hook.call('POST', `/connections/${connectionId}/phone`, { blocked: ['447700900202'] });
    expect(await read(connectionId)).toEqual({
      id: connectionId,
      workspaceId: hook.sandbox.seed.workspaceId,
      phoneNumber: '447700900150',
      label: 'Desk',
      provider: 'qr',
      status: 'connected',
      licenseStatus: 'trial',
      licenseExpires: iso(at + 1_000 + 7 * 24 * HOUR),
      needsReconnect: false,
      outage: null,
      license: { status: 'trial', expiresAt: iso(at + 1_000 + 7 * 24 * HOUR) },
      hasSlot: true,
      warmup: {
        endsAt: iso(at + 1_000 + 72 * HOUR),
        perHour: 30,
        stepEndsAt: iso(at + 1_000 + 24 * HOUR),
        sentLastHour: 1,
      },
      phone: { on: true, blocked: ['447700900202'] },
      transitions: [
        {
          at: iso(at + 1_000),
          from: 'connecting',
          to: 'connected',
          cause: 'paired',
          reason: null,
          needsReconnect: false,
          event: null,
        },
        {
          at: iso(at),
          from: null,
          to: 'connecting',
          cause: 'created',
          reason: null,
          needsReconnect: false,
          event: null,
        },
      ],
    });
  });

  it('shows an outage before the service has detected it, and each transition with its cause', async () => {
    const id = hook.connectionId;
    await hook.call('POST', `/connections/${id}/outage`, { cause: 'opened_elsewhere' });
    expect(await read(id)).toMatchObject({ status: 'connected', outage: 'opened_elsewhere' });
    await hook.call('POST', '/clock/advance', { ms: HOUR });
    expect(await read(id)).toMatchObject({
      status: 'disconnected',
      needsReconnect: true,
      transitions: [
        {
          from: 'connected',
          to: 'disconnected',
          cause: 'outage_found',
          reason: 'NEEDS_RECONNECT',
          needsReconnect: true,
          event: 'connection.disconnected',
        },
        { cause: 'paired' },
        { cause: 'created' },
      ],
    });
    await hook.call('POST', `/connections/${id}/recover`);
    expect(await read(id)).toMatchObject({
      status: 'connected',
      outage: null,
      transitions: [{ cause: 'recovered', event: 'connection.connected' }, {}, {}, {}],
    });
    await hook.api('POST', `/connections/${id}/logout`);
    await hook.api('POST', `/connections/${id}/restart`);
    expect((await causes(id)).slice(0, 2)).toEqual(['restarted_needs_qr', 'logged_out']);
  });

  it('keeps the latest 50 transitions of each connection', async () => {
    const id = await create('Desk');
    for (let round = 0; round < 30; round += 1) {
      await hook.api('POST', `/connections/${id}/logout`);
      await hook.api('POST', `/connections/${id}/restart`);
    }
    const kept = await causes(id);
    expect(kept).toHaveLength(50);
    expect(kept[0]).toBe('restarted_needs_qr');
    expect(kept).not.toContain('created');
    expect(await causes(hook.connectionId)).toEqual(['paired', 'created']);
  });

  it('shows no phone of a cloud_api number, and nothing of a deleted one', async () => {
    const { entries } = (await hook.call('GET', `/connections${query('provider:cloud_api')}`)).body;
    expect(await read(entries[0].id)).toMatchObject({ phone: null, warmup: null, hasSlot: true });
    const id = await create('Desk');
    await hook.api('DELETE', `/connections/${id}`);
    expect(await hook.call('GET', `/connections/${id}`)).toMatchObject({
      status: 404,
      body: { error: 'not_found' },
    });
  });
});

describe('GET /connections with a filter', () => {
  const labels = async (q: string): Promise<string[]> =>
    (await hook.call('GET', `/connections${query(q)}`)).body.entries.map(
      ({ label }: { label: string }) => label,
    );

  it('filters by status, license, outage, provider, number and text', async () => {
    await create('New desk');
    await hook.call('POST', `/connections/${hook.connectionId}/outage`, { cause: 'session_lost' });
    expect(await labels('status:connecting')).toEqual(['New desk']);
    expect(await labels('license:none')).toEqual(['New desk']);
    expect(await labels('license:trial')).toEqual(['Support']);
    expect(await labels('license:active !provider:cloud_api')).toEqual(['Front desk', 'Sales']);
    expect(await labels('outage:*')).toEqual(['Front desk']);
    expect(await labels('!outage:session_lost status:connected')).toEqual(['Sales', 'Newsletter', 'Support']);
    expect(await labels('desk')).toEqual(['Front desk', 'New desk']);
    expect(await labels('phone:44770090010* reconnect:no provider:cloud_api')).toEqual(['Newsletter']);
    expect(await labels('ending:yes')).toEqual([]);
    await hook.call('POST', '/clock/advance', { ms: 4 * 24 * HOUR });
    expect(await labels('ending:yes')).toEqual(['Support']);
    await hook.call('POST', '/clock/advance', { ms: 4 * 24 * HOUR });
    expect(await labels('ending:yes')).toEqual([]);
    expect(await labels('license:expired')).toEqual(['Support']);
    expect(await labels('reconnect:yes')).toEqual(['Front desk']);
  });

  it('lists the newest first on request, in pages', async () => {
    await create('New desk');
    const first = (await hook.call('GET', '/connections?order=newest&limit=2')).body;
    const next = (await hook.call('GET', `/connections?order=newest&limit=2&cursor=${first.nextCursor}`))
      .body;
    expect([...first.entries, ...next.entries].map(({ label }: { label: string }) => label)).toEqual([
      'New desk',
      'Support',
      'Newsletter',
      'Sales',
    ]);
  });

  it('combines the filter with the other parameters', async () => {
    const { entries } = (
      await hook.call('GET', `/connections${query('status:connected')}&phoneNumber=447700900102`)
    ).body;
    expect(entries.map(({ label }: { label: string }) => label)).toEqual(['Sales']);
  });

  it('refuses a status that only the list of the service has', async () => {
    expect((await hook.call('GET', `/connections${query('status:open')}`)).body.message).toBe(
      "'q': `status:open` has an unknown value; the values of status are connecting, connected, disconnected.",
    );
  });
});
