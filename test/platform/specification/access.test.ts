import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTestSandbox, type TestSandbox } from '../../sandbox/fixture.ts';
import { proves } from '../../support/proves.ts';

const DAY = 86_400_000;
const CONTACT = '447700900201';
const PORTAL_NUMBER = '447700900160';

describe('access', () => {
  let bed: TestSandbox;
  beforeAll(async () => {
    bed = await startTestSandbox();
  });
  afterAll(() => bed.close());

  /** A workspace and a key for it. */
  async function addWorkspace(kind: 'standalone' | 'crm_portal', scopes?: readonly string[]) {
    const { id } = (await bed.call('POST', '/workspaces', { kind })).body.workspace;
    const created = await bed.call('POST', `/workspaces/${id}/api-keys`, { scopes });
    return { id: id as string, keyId: created.body.id as string, key: created.body.key as string };
  }

  async function addConnection(workspaceId: string, phoneNumber: string, addon?: boolean): Promise<string> {
    const body = { provider: 'qr', phoneNumber, addon };
    return (await bed.call('POST', `/workspaces/${workspaceId}/connections`, body)).body.connection.id;
  }

  /** Status and code of a call. */
  async function ask(key: string, method: string, path: string, body?: unknown): Promise<string> {
    const answer = await bed.service.call(method, path, { key, ...(body === undefined ? {} : { body }) });
    const { error } = answer.body as { readonly error?: string };
    return error === undefined ? `${answer.status}` : `${answer.status} ${error}`;
  }

  test(
    'a key creates the first connection of its workspace',
    proves(
      'auth.key.first-connection',
      'connections.create.first-by-key',
      'connections.create.body.optional',
    ),
    async () => {
      const { key } = await addWorkspace('standalone');
      expect((await bed.service.call('GET', '/account', { key })).body).toMatchObject({
        connections: { total: 0 },
      });
      expect(await ask(key, 'POST', '/connections')).toBe('201');
    },
  );

  test(
    'a portal creates its connections itself, and each needs its own add-on',
    proves(
      'service.portal.made-inside',
      'service.portal.addon',
      'service.gate.visible',
      'service.gate.expired-hidden',
      'service.gate.unsendable',
      'connections.create.standalone-only',
      'errors.forbidden_portal_kind',
      'errors.addon_required',
      'choice.unlicensed.hidden',
      'choice.unlicensed.refused',
      'choice.unlicensed.allowed',
    ),
    async () => {
      const { id: workspaceId, key } = await addWorkspace('crm_portal');
      expect(await ask(key, 'POST', '/connections')).toBe('403 forbidden_portal_kind');
      const bare = await addConnection(workspaceId, '447700900159', false);
      const id = await addConnection(workspaceId, PORTAL_NUMBER);
      const seen = async (): Promise<string[]> => {
        const { body } = await bed.service.call('GET', '/connections', { key });
        return (body as { connections: { id: string }[] }).connections.map((connection) => connection.id);
      };
      expect(await seen()).toEqual([id]);
      const send = (connectionId: string) =>
        ask(key, 'POST', '/messages', { connectionId, to: CONTACT, text: 'hello' });
      expect([await send(id), await send(bare)]).toEqual(['200', '402 addon_required']);
      await bed.call('PUT', `/connections/${id}/licence`, { status: 'expired' });
      expect(await seen()).toEqual([]);
      expect(await send(id)).toBe('402 addon_required');
      expect(await ask(key, 'POST', '/messages/read', { connectionId: id, phone: CONTACT })).toBe(
        '402 addon_required',
      );
      const path = `/connections/${id}`;
      expect(await ask(key, 'GET', path)).toBe('200');
      expect(await ask(key, 'POST', `${path}/logout`)).toBe('200');
      expect(await ask(key, 'POST', `${path}/restart`)).toBe('200');
      expect(await ask(key, 'POST', `${path}/pairing-code`, { phoneNumber: PORTAL_NUMBER })).toBe('200');
      expect(await ask(key, 'DELETE', path)).toBe('200');
    },
  );

  test(
    'a call without a credential is refused like one with an unknown key, with a challenge',
    proves('choice.no-credential', 'auth.key.unknown', 'auth.challenge', 'errors.invalid_key'),
    async () => {
      for (const access of [{}, { key: 'msk_unknown' }]) {
        const answer = await bed.service.call('GET', '/connections', access);
        expect([answer.status, answer.body]).toEqual([401, { error: 'invalid_key' }]);
        expect(answer.headers.get('www-authenticate')).toBe('Bearer error="invalid_token"');
      }
    },
  );

  test('a key is shown when it is created and never again', proves('auth.key.shown-once'), async () => {
    const { keyId, key } = await addWorkspace('standalone');
    const changed = await bed.call('PATCH', `/api-keys/${keyId}`, { scopes: ['messaging.read'] });
    expect(changed.status).toBe(200);
    await ask(key, 'GET', '/connections');
    const { body: calls } = await bed.call('GET', '/calls?limit=100');
    expect(calls.entries.length).toBeGreaterThan(0);
    const told = JSON.stringify([changed.body, calls, (await bed.call('GET', '/info')).body]);
    expect(told).toContain(keyId);
    expect(told).not.toContain(key);
  });

  test('a key has no expiry', proves('auth.key.no-expiry'), async () => {
    const { key } = await addWorkspace('standalone');
    await bed.call('POST', '/clock/advance', { ms: 20 * 365 * DAY });
    expect(await ask(key, 'GET', '/connections')).toBe('200');
  });
});
