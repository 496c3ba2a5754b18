import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { useHookedSandbox } from './hooked-sandbox.ts';

const hook = useHookedSandbox();
const list = async (path: string) => {
  const { status, body } = await hook.call('GET', path);
  expect(status, JSON.stringify(body)).toBe(200);
  return body;
};
const query = (q: string): string => `?q=${encodeURIComponent(q)}`;
const settle = () => hook.service.platform.settle();

describe('GET /workspaces', () => {
  it('lists slots and keys, and recognizes a key without containing it', async () => {
    const { id } = (await hook.call('POST', '/workspaces', { kind: 'standalone', slots: 2 })).body.workspace;
    const access = { scopes: ['messaging.read'], ipAllowlist: ['203.0.113.0/24'] };
    const { body: made } = await hook.call('POST', `/workspaces/${id}/api-keys`, access);
    await hook.call('POST', `/workspaces/${id}/connections`, { provider: 'qr', phoneNumber: '447700900150' });
    await hook.clock.advance(60_000);
    await hook.call('DELETE', `/api-keys/${made.id}`);
    const at = hook.service.platform.time.now();
    // Once more: it stays revoked since the first time.
    await hook.clock.advance(60_000);
    await hook.call('DELETE', `/api-keys/${made.id}`);
    const iso = (ms: number): string => new Date(ms).toISOString();
    const body = await list('/workspaces');
    expect(body.entries.at(-1)).toEqual({
      id,
      kind: 'standalone',
      createdAt: iso(at - 60_000),
      slots: { total: 2, used: 1, available: 1, nextExpiry: iso(at - 60_000 + 7 * 86_400_000) },
      apiKeys: [
        {
          id: made.id,
          hint: createHash('sha256').update(made.key).digest('hex').slice(0, 8),
          scopes: ['messaging.read'],
          ipAllowlist: ['203.0.113.0/24'],
          connectionIds: null,
          createdAt: iso(at - 60_000),
          revokedAt: iso(at),
        },
      ],
    });
    const { workspaceId, apiKey } = hook.sandbox.seed;
    const seeded = body.entries.find((entry: { id: string }) => entry.id === workspaceId);
    expect(seeded.apiKeys).toMatchObject([
      { hint: createHash('sha256').update(apiKey).digest('hex').slice(0, 8), revokedAt: null },
    ]);
    expect(JSON.stringify(body)).not.toContain(apiKey);
  });

  it('comes in pages', async () => {
    await hook.call('POST', '/workspaces', { kind: 'crm_portal' });
    const first = await list('/workspaces?limit=1');
    const second = await list(`/workspaces?limit=1&cursor=${first.nextCursor}`);
    const kinds = [first, second].map(({ entries }) => entries[0].kind);
    expect(kinds.toSorted()).toEqual(['crm_portal', 'standalone']);
    expect(second).not.toHaveProperty('nextCursor');
  });
});

describe('GET /contacts', () => {
  const phones = async (q: string): Promise<string[]> =>
    (await list(`/contacts${query(q)}`)).entries.map(({ phone }: { phone: string }) => phone);

  it('lists how people behave, ordered by number', async () => {
    const { entries } = await list('/contacts');
    expect(entries.map(({ phone }: { phone: string }) => phone)).toEqual([
      '447700900201',
      '447700900202',
      '447700900203',
      '447700900204',
      '447700900205',
    ]);
    expect(entries[2]).toEqual({
      phone: '447700900203',
      onNetwork: true,
      deliverAfterMs: 300,
      readAfterMs: 1000,
      failAfterMs: null,
      autoReply: 'Thanks, got it!',
    });
  });

  it('lists everybody who has written or was written to, with the default behavior', async () => {
    await hook.call('PUT', '/timing', { sendScale: 0 });
    const { connectionId } = hook;
    const write = (phone: string) =>
      hook.call('POST', `/contacts/${phone}/messages`, { connectionId, text: 'Hello' });
    await write('447700900211');
    await write('447700900211');
    await hook.api('POST', '/messages', { connectionId, to: '447700900212', text: 'Good morning' });
    await hook.call('POST', `/connections/${connectionId}/phone`, { on: false });
    await write('447700900213');
    expect(await phones('contact:44770090021*')).toEqual(['447700900211', '447700900212', '447700900213']);
    expect(await phones('network:yes contact:44770090021* !contact:447700900212')).toEqual([
      '447700900211',
      '447700900213',
    ]);
    const { entries } = await list('/contacts?q=contact:447700900211');
    expect(entries).toEqual([
      {
        phone: '447700900211',
        onNetwork: true,
        deliverAfterMs: 400,
        readAfterMs: 2000,
        failAfterMs: null,
        autoReply: null,
      },
    ]);
  });

  it('can be filtered and paged', async () => {
    expect(await phones('network:no')).toEqual(['447700900205']);
    expect(await phones('got it')).toEqual(['447700900203']);
    expect(await phones('contact:44770090020* !contact:447700900201 network:yes')).toEqual([
      '447700900202',
      '447700900203',
      '447700900204',
    ]);
    const first = await list(`/contacts${query('network:yes')}&limit=3`);
    const second = await list(`/contacts${query('network:yes')}&limit=3&cursor=${first.nextCursor}`);
    expect(second.entries.map(({ phone }: { phone: string }) => phone)).toEqual(['447700900204']);
  });
});

describe('GET /messages', () => {
  const texts = async (q: string): Promise<string[]> =>
    (await list(`/messages${query(q)}`)).entries.map(({ text }: { text: string }) => text);

  it('lists the messages of all workspaces as the service stores them, newest first', async () => {
    await hook.call('PUT', '/timing', { sendScale: 0 });
    const { id: workspaceId } = (await hook.call('POST', '/workspaces', { kind: 'standalone' })).body
      .workspace;
    const added = { provider: 'qr', phoneNumber: '447700900150' };
    const { body } = await hook.call('POST', `/workspaces/${workspaceId}/connections`, added);
    const { id: connectionId } = body.connection;
    const { messageId } = (await hook.write('from a contact')).body;
    await hook.call('POST', '/contacts/447700900201/messages', { connectionId, text: 'elsewhere' });
    const media = { filename: 'a.txt', mimetype: 'text/plain', data: 'aGk=', caption: 'a file' };
    await hook.call('POST', '/contacts/447700900201/messages', { connectionId, media });
    const to = '447700900202';
    await hook.api('POST', '/messages', { connectionId: hook.connectionId, to, text: 'an answer' });
    expect(await texts('')).toEqual(['an answer', 'a file', 'elsewhere', 'from a contact']);
    expect((await list('/messages')).entries.at(-1)).toEqual({
      id: messageId,
      workspaceId: hook.sandbox.seed.workspaceId,
      connectionId: hook.connectionId,
      direction: 'incoming',
      peer: '491700000009',
      text: 'from a contact',
      mediaType: null,
      filename: null,
      status: 'delivered',
      errorMessage: null,
      waMessageId: expect.any(String),
      createdAt: new Date(hook.service.platform.time.now()).toISOString(),
    });
    expect(await texts(`workspace:${workspaceId}`)).toEqual(['a file', 'elsewhere']);
    expect(await texts(`connection:${hook.connectionId} direction:outgoing`)).toEqual(['an answer']);
    expect(await texts('contact:447700900201 !media:*')).toEqual(['elsewhere']);
    expect(await texts('media:text/*')).toEqual(['a file']);
    expect((await list(`/messages${query('media:text/plain')}`)).entries[0]).toMatchObject({
      filename: 'a.txt',
      mediaType: 'text/plain',
    });
    expect(await texts(`message:${messageId}`)).toEqual(['from a contact']);
    expect(await texts('status:sent status:delivered AN')).toEqual(['an answer']);
    const first = await list('/messages?limit=3');
    const second = await list(`/messages?limit=3&cursor=${first.nextCursor}`);
    expect(second.entries.map(({ text }: { text: string }) => text)).toEqual(['from a contact']);
    expect(second).not.toHaveProperty('nextCursor');
  });

  it('refuses an unknown key and names those that exist', async () => {
    expect((await hook.call('GET', `/messages${query('peer:1')}`)).body.message).toBe(
      "'q': `peer:1` has an unknown key; the keys are status, direction, message, workspace, connection, contact, media. Put a text that contains a colon in quotation marks.",
    );
  });
});

describe('GET /webhooks', () => {
  it('lists each registration with its last deliveries, and no secret', async () => {
    hook.receiver.script({ status: 200 }, { status: 503 }, { status: 503 }, { status: 410 });
    await hook.write('arrives');
    await settle();
    await hook.write('is dropped');
    await hook.clock.pass(500);
    await hook.clock.pass(1_000);
    await settle();
    const app = { name: 'CRM', redirectUris: ['https://crm.example.com/back'], scopes: ['messaging.events'] };
    const { body: made } = await hook.call('POST', '/oauth-apps', {
      ...app,
      webhookUrl: 'https://crm.example.com/app',
    });
    const body = await list('/webhooks');
    expect(body).toEqual({
      entries: [
        {
          subscription: { kind: 'app', id: made.clientId },
          url: 'https://crm.example.com/app',
          changedAt: new Date(hook.clock.now()).toISOString(),
          lastDeliveries: [],
        },
        {
          subscription: { kind: 'workspace', id: hook.sandbox.seed.workspaceId },
          url: 'https://crm.example.com/',
          changedAt: new Date(hook.clock.now() - 1_500).toISOString(),
          lastDeliveries: [
            expect.objectContaining({ event: 'message.received', outcome: 'dropped', status: 410 }),
            expect.objectContaining({ event: 'message.received', outcome: 'delivered', status: 200 }),
          ],
        },
      ],
    });
    expect(JSON.stringify(body)).not.toContain(hook.secret);
    const first = await list('/webhooks?limit=1');
    const second = await list(`/webhooks?limit=1&cursor=${first.nextCursor}`);
    expect(second.entries).toEqual([body.entries[1]]);
  });
});

describe('GET /clock/due', () => {
  it('previews what an advance to a time would fire, and counts it', async () => {
    const { now } = (await hook.call('GET', '/clock')).body;
    const until = (ms: number): string => new Date(Date.parse(now) + ms).toISOString();
    await hook.call('PUT', '/contacts/447700900201', { deliverAfterMs: 10_000, readAfterMs: 90_000 });
    await hook.call('PUT', '/timing', { sendScale: 0 });
    const message = { connectionId: hook.connectionId, to: '447700900201', text: 'hello' };
    await hook.api('POST', '/messages', message);
    const whole = await list('/clock/due');
    const preview = await list(`/clock/due?until=${until(60_000)}`);
    expect(preview.total).toBeLessThan(whole.total);
    const { fired } = (await hook.call('POST', '/clock/advance', { to: until(60_000) })).body;
    expect(preview).toEqual({ entries: fired, total: fired.length });
    expect(fired.at(-1)).toMatchObject({ at: until(10_000), what: 'receipt.delivered' });
    expect(await list(`/clock/due?until=${until(60_000)}&limit=1`)).toEqual({ entries: [], total: 0 });
  });

  it('refuses an invalid time', async () => {
    expect(await hook.call('GET', '/clock/due?until=tomorrow')).toMatchObject({
      status: 400,
      body: { field: 'until' },
    });
  });
});
