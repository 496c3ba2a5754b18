import { beforeEach, describe, expect, test } from 'vitest';
import { webhookEvent } from '../../src/contract/service/events.ts';
import { PlatformAlreadyRuns } from '../../src/platform/db/process-lease.ts';
import { createPlatform } from '../../src/platform/platform.ts';
import { ofFile, ofTest } from '../support/of-file.ts';
import { readExactly, seedWorkspace, silentLogger, startTestPlatform } from '../support/platform.ts';
import { proves } from '../support/proves.ts';
import { startReceiver } from '../support/receiver.ts';

describe('platform', () => {
  const service = ofFile(() =>
    startTestPlatform({
      ports: { hosts: { target: (host) => (host === 'hooks.example.com' ? receiver.origin : undefined) } },
    }),
  );
  const receiver = ofTest(startReceiver);
  beforeEach(async () => {
    await service.platform.reset();
  });

  async function seedWithWebhook() {
    const seeded = await seedWorkspace(service);
    const body = { url: 'https://hooks.example.com/in' };
    await service.call('PUT', '/webhook', { key: seeded.key, body });
    return seeded;
  }

  test('delivers what was committed, and settle waits for it', async () => {
    const { key, connectionId } = await seedWithWebhook();
    const to = '4915900000001';
    await service.platform.contacts.put(to, {
      deliverAfterMs: 100,
      readAfterMs: 200,
      autoReply: 'hello back',
    });
    await service.call('POST', '/messages', { key, body: { connectionId, to, text: 'hello' } });
    await service.platform.time.advance({ ms: 10_000 });
    await service.platform.settle();
    const events = receiver.requests.map((request) =>
      readExactly(webhookEvent, JSON.parse(request.body.toString())),
    );
    const told = events.map((event) =>
      'message' in event && 'status' in event.message ? event.message.status : event.event,
    );
    expect(told.toSorted()).toEqual(['delivered', 'message.received', 'read', 'sent']);
    expect(events.every((event) => event.connection_id === connectionId)).toBe(true);
  });

  test('delivers nothing of a change that was not committed', async () => {
    const { connectionId } = await seedWithWebhook();
    await service.database.query(
      `CREATE FUNCTION platform.refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no'; END $$`,
    );
    await service.database.query(
      `CREATE CONSTRAINT TRIGGER refuse AFTER INSERT ON platform.messages DEFERRABLE INITIALLY DEFERRED
       FOR EACH ROW EXECUTE FUNCTION platform.refuse()`,
    );
    const write = service.platform.messages.receive(connectionId, { from: '4915900000002', text: 'never' });
    await expect(write).rejects.toThrow('no');
    await service.database.query('DROP FUNCTION platform.refuse() CASCADE');
    await service.platform.settle();
    expect(receiver.requests).toEqual([]);
    expect(await service.platform.ledger.read({}, 10)).toEqual([]);
  });

  test('serves version 1 under `/api/v1`, and nothing else', async () => {
    proves('versioning.prefix', 'endpoints.base');
    const { key, connectionId } = await seedWorkspace(service);
    const ask = (path: string) =>
      fetch(`${service.origin}${path}`, { headers: { authorization: `Bearer ${key}` } });
    const answer = await ask('/api/v1/connections');
    expect([answer.status, await answer.json()]).toMatchObject([
      200,
      { connections: [{ id: connectionId, label: 'Front desk' }] },
    ]);
    for (const path of ['/connections', '/api/connections', '/api/v2/connections']) {
      expect([path, (await ask(path)).status]).toEqual([path, 404]);
    }
  });

  const start = () =>
    createPlatform({
      database: service.database,
      systemClock: service.clock,
      logger: silentLogger,
      baseUrls: () => ({ api: service.origin, legacyApi: service.origin, auth: service.origin }),
      sendScale: 0,
    });

  test('refuses to start on the database of another one, and starts once that has closed', async () => {
    await expect(start()).rejects.toBeInstanceOf(PlatformAlreadyRuns);
    await service.restart();
    await expect(start()).rejects.toBeInstanceOf(PlatformAlreadyRuns);
  });

  test('removes keys, webhooks and people at a reset, and resets the pace', async () => {
    const { key } = await seedWithWebhook();
    await service.platform.contacts.put('4915900000003', { onNetwork: false });
    service.platform.timing.setSendScale(3);
    await service.platform.reset();
    expect((await service.call('GET', '/webhook', { key })).status).toBe(401);
    expect(await service.platform.contacts.get('4915900000003')).toMatchObject({ onNetwork: true });
    expect(service.platform.timing.sendScale).toBe(0);
    const fresh = await seedWorkspace(service);
    expect((await service.call('GET', '/webhook', { key: fresh.key })).body).toMatchObject({ url: null });
  });

  test('is reset while a query reads, which goes on', async () => {
    const { database, platform } = service;
    await database.transaction(async (tx) => {
      await tx.query('SELECT FROM platform.connections JOIN platform.deliveries ON true');
      await platform.reset();
      await tx.query('SELECT FROM platform.workspaces JOIN platform.ledger ON true');
    });
  });

  test('leaves no timer behind when it is closed', async () => {
    await seedWithWebhook();
    await service.platform.close();
    expect(service.clock.pending).toBe(0);
    await service.restart();
  });

  test('is closed after an advance that is in progress', async () => {
    const { connectionId, key } = await seedWorkspace(service);
    const to = '4915900000002';
    await service.platform.contacts.put(to, { deliverAfterMs: 1_000, readAfterMs: 2_000, autoReply: 'hi' });
    await service.call('POST', '/messages', { key, body: { connectionId, to, text: 'hello' } });
    let isOver = false;
    const advance = service.platform.time.advance({ ms: 60_000 }).finally(() => {
      isOver = true;
    });
    await service.platform.close();
    expect(isOver).toBe(true);
    await advance;
    await service.restart();
  });

  test('releases the database if a start fails', async () => {
    await service.platform.close();
    await service.database.query('ALTER TABLE platform.deliveries RENAME TO hidden');
    await expect(start()).rejects.toThrow('deliveries');
    await service.database.query('ALTER TABLE platform.hidden RENAME TO deliveries');
    await (await start()).close();
    await service.restart();
  });
});
