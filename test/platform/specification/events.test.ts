import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTestSandbox, type TestSandbox } from '../../sandbox/fixture.ts';
import { proves } from '../../support/proves.ts';
import { type Receiver, startReceiver } from '../../support/receiver.ts';

const CONTACT = '447700900201';

describe('events', () => {
  let bed: TestSandbox;
  let receivers: readonly Receiver[];
  /** A webhook address that leads to each receiver. */
  const hooks = ['https://crm0.example.com/', 'https://crm1.example.com/'];

  beforeAll(async () => {
    bed = await startTestSandbox();
    receivers = await Promise.all(hooks.map(() => startReceiver()));
    for (const [index, { origin }] of receivers.entries()) {
      await bed.call('PUT', `/hosts/crm${index}.example.com`, { target: origin });
    }
  });
  afterAll(async () => {
    await bed.close();
    for (const receiver of receivers) await receiver.close();
  });

  /** A workspace with a `qr` connection and a key for everything. */
  async function addWorkspace(phoneNumber: string, provider: 'qr' | 'cloud_api' = 'qr') {
    const { id } = (await bed.call('POST', '/workspaces', { kind: 'standalone' })).body.workspace;
    const { key } = (await bed.call('POST', `/workspaces/${id}/api-keys`, {})).body;
    const made = await bed.call('POST', `/workspaces/${id}/connections`, { provider, phoneNumber });
    return { key: key as string, connectionId: made.body.connection.id as string };
  }

  const write = (connectionId: string, text: string) =>
    bed.call('POST', `/contacts/${CONTACT}/messages`, { connectionId, text });
  const send = (key: string, connectionId: string) =>
    bed.service.call('POST', '/messages', { key, body: { connectionId, to: CONTACT, text: 'hello' } });

  test(
    'there are four types, whatever happens to a connection',
    proves('events.four', 'events.snake-case', 'versioning.webhooks-snake-case'),
    async () => {
      const { key, connectionId } = await addWorkspace('447700900154');
      const path = `/connections/${connectionId}`;
      await bed.service.call('PUT', '/webhook', { key, body: { url: hooks[0] } });
      await write(connectionId, 'in');
      await send(key, connectionId);
      await bed.call('POST', `${path}/outage`, { cause: 'session_lost' });
      await bed.call('POST', '/clock/advance', { ms: 300_000 });
      await bed.call('POST', `${path}/recover`);
      await bed.call('PUT', `${path}/licence`, { status: 'active' });
      await bed.service.call('POST', '/messages/read', { key, body: { connectionId, phone: CONTACT } });
      await bed.service.call('POST', '/webhook/rotate', { key });
      await bed.service.call('POST', '/connections', { key });
      await bed.service.call('POST', `${path}/restart`, { key });
      await bed.service.call('POST', `${path}/logout`, { key });
      await bed.service.platform.delivery.settle();
      const { entries } = (await bed.call('GET', `/deliveries?connectionId=${connectionId}&limit=100`)).body;
      const payloads: readonly { event: string }[] = entries.map(({ body }: { body: string }) =>
        JSON.parse(body),
      );
      expect([...new Set(payloads.map(({ event }) => event))].sort()).toEqual([
        'connection.connected',
        'connection.disconnected',
        'message.received',
        'message.status',
      ]);
      const names: string[] = [];
      JSON.parse(JSON.stringify(payloads), (name, value: unknown) => {
        if (Number.isNaN(Number(name))) names.push(name);
        return value;
      });
      expect(names.length).toBeGreaterThan(40);
      expect(names.filter((name) => !/^[a-z]+(?:_[a-z]+)*$/.test(name))).toEqual([]);
    },
  );
});
