import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type PairingEvent, pairingEvent } from '../../../src/contract/connector/pairing.ts';
import { dumpDatabase } from '../../support/dump-stores.ts';
import { type EventReader, readEvents } from '../../support/event-reader.ts';
import { collectLog } from '../../support/log-to.ts';
import { createMuteDatabase } from '../../support/mute-database.ts';
import { proves } from '../../support/proves.ts';
import { type Phone, PhoneService, refusal } from '../support/phone-service.ts';
import { connectorOfFile, TOKEN } from '../support/running-connector.ts';

let mute: ReturnType<typeof createMuteDatabase>;
let phones: PhoneService;
let phone: Phone;
let count = 0;
let readers: EventReader<PairingEvent>[] = [];

const { world, running } = connectorOfFile(({ database }) => {
  mute = createMuteDatabase(database);
  return { database: mute.database };
});
beforeEach(() => {
  phones = PhoneService.attach(world.service);
  count += 1;
  phone = phones.add(`phone-${count}`);
  world.service.requests = [];
  world.clock.forget();
});
afterEach(() => {
  for (const reader of readers) reader.close();
  readers = [];
});
afterAll(() => mute.giveUp());

async function look(of = phone.id, at = running): Promise<EventReader<PairingEvent>> {
  const headers = { authorization: `Bearer ${TOKEN}` };
  const url = `${at.url}/v1/connections/${of}/pairing`;
  const reader = await readEvents(url, (data) => pairingEvent.parse(data), headers);
  readers.push(reader);
  return reader;
}

const reads = (): number => world.service.countRequests(`/connections/${phone.id}`);
const isPicture = (name: string) => (event: PairingEvent) =>
  event.type === 'qr' && event.qr.endsWith(`picture${name}`);

describe('the first QR code', () => {
  const ask = async (): Promise<unknown[]> => {
    const { status, body } = await running.ask('GET', `/v1/connections/${phone.id}/pairing`);
    return [status, body['error'], body['message']];
  };

  it('is waited for 10 s if the service does not respond', async () => {
    const asked = Promise.withResolvers<void>();
    const goOn = Promise.withResolvers<void>();
    world.service.onRequest = async ({ path }) => {
      if (!path.endsWith(`/connections/${phone.id}`)) return;
      asked.resolve();
      await goOn.promise;
    };
    const refused = ask();
    await asked.promise;
    await world.clock.advance(10_000);
    expect(await refused).toEqual([503, 'unavailable', expect.stringContaining('within 10 s')]);
    world.service.onRequest = () => undefined;
    goOn.resolve();
    const viewer = await look();
    await viewer.find(({ type }) => type === 'qr');
  });

  // Whole clauses: what the process asks for by itself meanwhile, such as the list of accounts, must be answered.
  it.each([
    ['the connection', 'connector.connections where connector.connections.connection_id = $1'],
    ['its account', 'where connector.accounts.id = $1'],
  ])('is waited for 10 s if the database does not respond to %s', async (_, clause) => {
    // So that it is the request that asks, and nothing that an earlier test has caused.
    await running.connector.settle();
    const asked = mute.mute(clause);
    const refused = ask();
    await asked;
    mute.speak();
    await world.clock.advance(10_000);
    expect((await refused).slice(0, 2)).toEqual([503, 'unavailable']);
  });
});

describe('the stream of QR codes', () => {
  it('lets its reader come back after 5 s once it has ended', async () => {
    phone.status = 'connected';
    const headers = { authorization: `Bearer ${TOKEN}` };
    const answer = await fetch(`${running.url}/v1/connections/${phone.id}/pairing`, { headers });
    expect(await answer.text()).toContain('\n\nretry: 5000\n\ndata: {"type":"connected"');
  });

  it('shows each new one every 3 to 5 s until the number is connected', async () => {
    proves('connections.create.client-polls');
    const viewer = await look();
    await viewer.find(isPicture('1'));
    await world.clock.pass(3_000);
    await viewer.find(isPicture('2'));
    phone.status = 'connected';
    await world.clock.pass(3_000);
    await viewer.ended;
    expect(viewer.answer.complete).toBe(true);
    expect(viewer.events.map((event) => event.type)).toEqual(['qr', 'qr', 'connected']);
    // The last one is read once more, for the mirror.
    expect(reads()).toBe(4);
  });

  it('stores the number before it reports that it is connected', async () => {
    const viewer = await look();
    phone.status = 'connected';
    await world.clock.pass(3_000);
    await viewer.find(({ type }) => type === 'connected');
    expect((await running.ask('GET', `/v1/connections/${phone.id}`)).body).toMatchObject({
      status: 'connected',
      phoneNumber: '447700900123',
      health: 'working',
    });
    expect(running.notifier.notified).toContainEqual({ topic: 'poll', key: 'default', delayMs: 1_000 });
  });

  it('ends immediately for a number that is connected already', async () => {
    phone.status = 'connected';
    const viewer = await look();
    await viewer.ended;
    expect(viewer.events).toEqual([{ type: 'connected', status: 'connected' }]);
  });

  it('reports for a lost session that there is nothing to pair, and what to do', async () => {
    const viewer = await look();
    phone.status = 'disconnected';
    await world.clock.pass(3_000);
    await viewer.ended;
    expect(viewer.events.at(-1)).toEqual({
      type: 'ended',
      reason: 'disconnected',
      message: expect.stringContaining('restart'),
    });
  });

  it('reports a deletion, and stores it', async () => {
    const viewer = await look();
    await running.ask('POST', `/v1/connections/${phone.id}/logout`);
    phones.phones.delete(phone.id);
    await world.clock.pass(3_000);
    await viewer.ended;
    expect(viewer.events.at(-1)).toMatchObject({ type: 'ended', reason: 'not_found' });
    expect((await running.ask('GET', `/v1/connections/${phone.id}`)).body).toMatchObject({
      health: 'deleted',
    });
  });

  it('continues through an outage of the service, and reports that it waits', async () => {
    phones.script.push('reset', refusal(503, 'x'), refusal(429, 'rate_limited', { 'retry-after': '25' }));
    const viewer = await look();
    for (const ms of [3_000, 6_000, 25_000]) await world.clock.pass(ms);
    await viewer.find(({ type }) => type === 'qr');
    expect(viewer.events.map((event) => (event.type === 'waiting' ? event.reason : event.type))).toEqual([
      'service_unreachable',
      'service_unreachable',
      'rate_limited',
      'qr',
    ]);
  });

  it('reports that there is no QR code, and ends after three minutes without one', async () => {
    const viewer = await look();
    phone.status = 'healing';
    for (let step = 0; step < 61; step += 1) await world.clock.pass(3_000);
    await viewer.ended;
    expect(viewer.events[1]).toMatchObject({ type: 'waiting', reason: 'no_picture' });
    expect(viewer.events.at(-1)).toEqual({
      type: 'ended',
      reason: 'no_picture',
      message: expect.stringContaining('restart the connection'),
    });
  });

  it('ends by itself if nobody pairs', async () => {
    const viewer = await look();
    await world.clock.timerSet(3_000);
    await world.clock.skip(896_000);
    phones.script.push(null);
    await world.clock.pass(3_000);
    await viewer.ended;
    expect(viewer.events.at(-1)).toMatchObject({ type: 'ended', reason: 'expired' });
  });
});

describe('the QR code of a connection', () => {
  it('appears in no log and in no table', async () => {
    const { lines: logs, logger } = collectLog('trace');
    logger.info('is kept');
    const talkative = await world.start({ role: 'web', logger });
    const viewer = await look(phone.id, talkative);
    phones.script.push('reset');
    for (const ms of [3_000, 3_000]) await world.clock.pass(ms);
    await viewer.find(isPicture('2'));
    await talkative.ask('POST', `/v1/connections/${phone.id}/restart`);
    viewer.close();
    await talkative.stop();
    expect(logs.join('')).toContain('is kept');
    expect(logs.join('')).not.toContain('picture1');
    const dump = await dumpDatabase(world.databaseUrl);
    expect(dump).toContain(phone.id);
    expect(dump).not.toContain('base64');
  });
});

describe('before the stream begins', () => {
  it.each<[string, () => void, number, string]>([
    ['an unknown connection', () => phones.phones.clear(), 404, 'not_found'],
    ['the business platform', () => (phone.provider = 'cloud_api'), 409, 'not_supported_for_provider'],
    ['a revoked key', () => phones.script.push(refusal(401, 'invalid_key')), 502, 'service_refused'],
  ])('%s is refused with a status', async (_what, arrange, status, code) => {
    arrange();
    const answer = await running.ask('GET', `/v1/connections/${phone.id}/pairing`);
    expect([answer.status, answer.body['error']]).toEqual([status, code]);
    expect(reads()).toBe(1);
  });

  it('an unknown parameter is refused, and so are other methods', async () => {
    expect((await running.ask('GET', `/v1/connections/${phone.id}/pairing?x=1`)).status).toBe(400);
    expect((await running.ask('POST', `/v1/connections/${phone.id}/pairing`)).status).toBe(405);
    const head = await running.ask('HEAD', `/v1/connections/${phone.id}/pairing`);
    expect([head.status, head.headers.get('content-type')]).toEqual([
      200,
      expect.stringContaining('text/event-stream'),
    ]);
    expect(reads()).toBe(0);
  });
});

describe('several viewers', () => {
  it('end the poll when the last of them disconnects', async () => {
    await running.connector.settle();
    const before = world.clock.pending;
    const [one, two] = [await look(), await look()];
    await world.clock.timerSet(3_000);
    one.close();
    two.close();
    // Two heartbeats and the wait for the next read are gone; one timer more or less is the feed's.
    await expect.poll(() => world.clock.pending).toBeLessThanOrEqual(before + 1);
    await world.clock.advance(30_000);
    expect(reads()).toBe(1);
  });

  it('are notified when the process stops', async () => {
    const other = await world.start({ role: 'web' });
    const viewer = await look(phone.id, other);
    other.connector.endStreams();
    await viewer.ended;
    expect(viewer.answer.complete).toBe(true);
    expect(viewer.events.at(-1)).toMatchObject({ type: 'ended', reason: 'closing' });
    const late = await other.ask('GET', `/v1/connections/${phone.id}/pairing`);
    expect([late.status, late.headers.get('retry-after')]).toEqual([503, '5']);
    await other.stop();
  });
});
