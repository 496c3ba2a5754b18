import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { CallRecord } from '../../../src/platform/calls/call-record.ts';
import { ofFile } from '../../support/of-file.ts';
import { seedWorkspace, startTestPlatform, type TestPlatform } from '../../support/platform.ts';
import { proves } from '../../support/proves.ts';

type Access = Parameters<TestPlatform['platform']['apiKeys']['create']>[1];

const OFF_LIST = { ipAllowlist: ['203.0.113.7'] };
const NO_ACCOUNT = '4915799999999';
const MINUTE = 60_000;

/** The one order of all endpoints. */
const ORDER = [
  'route',
  'credential',
  'address',
  'scope',
  'workspace_kind',
  'shape',
  'connection',
  'license',
  'provider',
  'state',
  'rate',
  'network',
];

describe('of two checks that would refuse a call, the earlier one does', () => {
  const service = ofFile(() => startTestPlatform({ ports: { onCall: (call) => records.push(call) } }));
  let home: Awaited<ReturnType<typeof seedWorkspace>>;
  let portal: Awaited<ReturnType<typeof seedWorkspace>>;
  let records: CallRecord[] = [];
  beforeAll(async () => {
    home = await seedWorkspace(service);
    portal = await seedWorkspace(service, { kind: 'crm_portal', phoneNumber: '4915187654321' });
    await service.platform.contacts.put(NO_ACCOUNT, { onNetwork: false });
  });
  beforeEach(() => {
    records = [];
  });

  const keyWith = async (access: Access = {}, workspaceId = home.workspaceId): Promise<string> =>
    (await service.platform.apiKeys.create(workspaceId, access)).key;
  const revokedKey = async (access: Access): Promise<string> => {
    const { id, key } = await service.platform.apiKeys.create(home.workspaceId, access);
    await service.platform.apiKeys.revoke(id);
    return key;
  };
  let lastNumber = 4915112340000;
  const add = async (
    provider: 'qr' | 'cloud_api' = 'qr',
    workspaceId = home.workspaceId,
  ): Promise<string> => {
    lastNumber += 1;
    const phoneNumber = String(lastNumber);
    return (await service.platform.connections.createPaired(workspaceId, { provider, phoneNumber })).id;
  };
  const lapse = (connectionId: string) => service.platform.licenses.set(connectionId, { status: 'expired' });
  /** Breaks the session, and lets the service find out. */
  const disconnect = async (connectionId: string): Promise<void> => {
    await service.platform.outages.begin(connectionId, { cause: 'session_lost' });
    await service.platform.time.advance({ ms: 6 * MINUTE });
  };

  /** The code of a call, after its trace was checked: the refusal is the last step and `check` is its name. */
  async function refusedBy(check: string, ...call: Parameters<TestPlatform['call']>): Promise<string> {
    const { body } = await service.call(...call);
    const trace = records.at(-1)?.trace ?? [];
    expect(trace.map(({ passed }) => passed)).toEqual([...Array(trace.length - 1).fill(true), false]);
    const names = trace.map((step) => step.check);
    expect(names.at(-1)).toBe(check);
    expect(names).toEqual(ORDER.filter((name) => names.some((ran) => ran === name)));
    return String(Reflect.get(Object(body), 'error'));
  }
  const send = (connectionId: string, to = '4915700000001') => ({ connectionId, to, text: 'hello' });

  it('route before credential', async () => {
    proves('choice.order');
    expect(await refusedBy('route', 'GET', '/nothing')).toBe('not_found');
    expect(await refusedBy('route', 'PUT', '/account')).toBe('method_not_allowed');
    expect(await refusedBy('credential', 'GET', '/account')).toBe('invalid_key');
  });

  it('credential before address', async () => {
    proves('choice.order');
    const key = await revokedKey(OFF_LIST);
    expect(await refusedBy('credential', 'GET', '/account', { key })).toBe('invalid_key');
    expect(await refusedBy('address', 'GET', '/account', { key: await keyWith(OFF_LIST) })).toBe(
      'ip_not_allowed',
    );
  });

  it('address before scope', async () => {
    proves('choice.order');
    const both = await keyWith({ ...OFF_LIST, scopes: [] });
    expect(await refusedBy('address', 'GET', '/account', { key: both })).toBe('ip_not_allowed');
    const later = await keyWith({ scopes: [] });
    expect(await refusedBy('scope', 'GET', '/account', { key: later })).toBe('insufficient_scope');
  });

  it('scope before workspace kind', async () => {
    proves('choice.order', 'errors.forbidden_portal_kind', 'choice.order');
    const both = await keyWith({ scopes: ['messaging.read'] }, portal.workspaceId);
    expect(await refusedBy('scope', 'POST', '/connections', { key: both })).toBe('insufficient_scope');
    expect(await refusedBy('workspace_kind', 'POST', '/connections', { key: portal.key })).toBe(
      'forbidden_portal_kind',
    );
  });

  it('workspace kind before shape', async () => {
    proves('choice.order');
    const call = { body: { label: 7 } };
    expect(await refusedBy('workspace_kind', 'POST', '/connections', { key: portal.key, ...call })).toBe(
      'forbidden_portal_kind',
    );
    expect(await refusedBy('shape', 'POST', '/connections', { key: home.key, ...call })).toBe(
      'invalid_request',
    );
  });

  it('shape before connection', async () => {
    proves('choice.order', 'errors.invalid_phone_number', 'choice.order');
    const { key } = home;
    const path = '/connections/unknown/pairing-code';
    expect(await refusedBy('shape', 'POST', path, { key, body: { phoneNumber: '+49151' } })).toBe(
      'invalid_phone_number',
    );
    expect(await refusedBy('connection', 'POST', path, { key, body: { phoneNumber: '49151' } })).toBe(
      'not_found',
    );
  });

  it('connection before license', async () => {
    proves('choice.order', 'errors.addon_required', 'errors.license_inactive', 'choice.order');
    const lapsed = await add('qr', portal.workspaceId);
    await lapse(lapsed);
    const body = send(lapsed);
    expect(await refusedBy('connection', 'POST', '/messages', { key: home.key, body })).toBe('not_found');
    expect(await refusedBy('license', 'POST', '/messages', { key: portal.key, body })).toBe('addon_required');
    const own = await add();
    await lapse(own);
    expect(await refusedBy('license', 'POST', '/messages', { key: home.key, body: send(own) })).toBe(
      'license_inactive',
    );
  });

  // No endpoint asks for both a license and a provider.
  it('license before state', async () => {
    proves('choice.order');
    const { key } = home;
    const id = await add();
    await disconnect(id);
    expect(await refusedBy('state', 'POST', '/messages', { key, body: send(id) })).toBe('send_failed');
    await lapse(id);
    expect(await refusedBy('license', 'POST', '/messages', { key, body: send(id) })).toBe('license_inactive');
  });

  it('provider before state', async () => {
    proves('choice.order', 'errors.not_supported_for_provider', 'errors.already_connected');
    const call = { key: home.key, body: { phoneNumber: '4915112345678' } };
    const [business, ordinary] = [await add('cloud_api'), await add('qr')];
    expect(await refusedBy('provider', 'POST', `/connections/${business}/pairing-code`, call)).toBe(
      'not_supported_for_provider',
    );
    expect(await refusedBy('state', 'POST', `/connections/${ordinary}/pairing-code`, call)).toBe(
      'already_connected',
    );
  });

  it('state before rate', async () => {
    proves('choice.order', 'errors.rate_limited', 'choice.order');
    const id = await add();
    await disconnect(id);
    const path = `/connections/${id}/pairing-code`;
    const call = { key: home.key, body: { phoneNumber: String(lastNumber) } };
    for (let count = 0; count < 5; count += 1)
      expect((await service.call('POST', path, call)).status).toBe(200);
    expect(await refusedBy('rate', 'POST', path, call)).toBe('rate_limited');
    await service.platform.outages.recover(id);
    expect(await refusedBy('state', 'POST', path, call)).toBe('already_connected');
  });

  it('rate before network', async () => {
    proves('choice.order', 'errors.pairing_code_unavailable', 'choice.order');
    const id = await add();
    await disconnect(id);
    const path = `/connections/${id}/pairing-code`;
    const call = { key: home.key, body: { phoneNumber: NO_ACCOUNT } };
    for (let count = 0; count < 5; count += 1) {
      expect(await refusedBy('network', 'POST', path, call)).toBe('pairing_code_unavailable');
    }
    expect(await refusedBy('rate', 'POST', path, call)).toBe('rate_limited');
  });

  it('state before network', async () => {
    proves('choice.order', 'errors.recipient_not_on_whatsapp', 'errors.send_failed', 'choice.order');
    const { key } = home;
    const id = await add();
    const body = send(id, NO_ACCOUNT);
    expect(await refusedBy('network', 'POST', '/messages', { key, body })).toBe('recipient_not_on_whatsapp');
    await disconnect(id);
    expect(await refusedBy('state', 'POST', '/messages', { key, body })).toBe('send_failed');
  });
});
