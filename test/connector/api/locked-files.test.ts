import { beforeAll, expect, it, onTestFinished } from 'vitest';
import type { OutboundList } from '../../../src/contract/connector/outbound.ts';
import { systemClock } from '../../../src/runtime/clock/system-clock.ts';
import { openPool } from '../../support/database.ts';
import { ofFile } from '../../support/of-file.ts';
import { ConnectorWorld } from '../support/running-connector.ts';

const world = ofFile(() => ConnectorWorld.open());

beforeAll(async () => {
  world.service.addConnection('c1');
  const running = await world.start();
  await running.ask('POST', '/v1/sync');
  await running.stop();
});

const open = (deadlineMs: number) => {
  const database = openPool(world.databaseUrl, { deadlineMs });
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
