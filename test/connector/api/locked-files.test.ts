import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import type { OutboundList } from '../../../src/contract/connector/outbound.ts';
import { systemClock } from '../../../src/runtime/clock/system-clock.ts';
import { openDatabase } from '../../../src/runtime/database/database.ts';
import { silentLogger } from '../support/event-fixtures.ts';
import { ConnectorWorld } from '../support/running-connector.ts';

let world: ConnectorWorld;

beforeAll(async () => {
  world = await ConnectorWorld.open();
  world.service.addConnection('c1');
  const running = await world.start();
  await running.ask('POST', '/v1/sync');
  await running.stop();
});
afterAll(() => world.close());

const open = (deadlineMs: number) => {
  const database = openDatabase({
    url: world.databaseUrl,
    name: 'test',
    deadlineMs,
    clock: systemClock,
    logger: silentLogger,
  });
  onTestFinished(() => database.close());
  return database;
};

it.each([
  ['a text', { text: 'Good morning' }],
  ['a file', { media: { filename: 'a.bin', mimetype: 'application/octet-stream', data: 'AAAA' } }],
])(
  '%s is refused within 9 s while somebody else has locked the files, and is queued once when it is repeated',
  async (reference, content) => {
    const connector = await world.start({ database: open(1_000), role: 'web' });
    onTestFinished(() => connector.stop());
    const body = { connectionId: 'c1', to: '447700900201', reference, ...content };
    await open(60_000).transaction(async (somebody) => {
      await somebody.query('LOCK TABLE connector.outbound_media IN ACCESS EXCLUSIVE MODE');
      const begun = systemClock.elapsed();
      const refused = await connector.ask('POST', '/v1/messages', { body });
      expect(refused).toMatchObject({ status: 503, body: { error: 'unavailable' } });
      expect(refused.headers.get('retry-after')).toBe('1');
      expect(systemClock.elapsed() - begun).toBeLessThan(9_000);
      expect((await connector.ask('GET', '/v1/outbound')).status).toBe(200);
    });
    const queued = await connector.ask('POST', '/v1/messages', { body });
    expect(queued.status).toBe(202);
    expect((await connector.ask('POST', '/v1/messages', { body })).body).toEqual(queued.body);
    const { outbound } = (await connector.ask('GET', '/v1/outbound')).body as unknown as OutboundList;
    expect(outbound.filter((send) => send.reference === reference)).toHaveLength(1);
  },
);
