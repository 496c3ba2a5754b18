import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { createMuteDatabase } from '../../support/mute-database.ts';
import { connectorOfFile, TOKEN } from '../support/running-connector.ts';
import type { Fault } from '../support/scripted-service.ts';

let mute: ReturnType<typeof createMuteDatabase>;
/** What the service answers for a file. */
let file: Fault;
let count = 0;

const { world, running } = connectorOfFile(({ service, database }) => {
  service.addConnection('c1');
  mute = createMuteDatabase(database);
  return { database: mute.database };
});
beforeAll(async () => {
  await running.ask('POST', '/v1/sync');
  world.service.fault = ({ path }) => (path.startsWith('/media/') ? file : undefined);
});
beforeEach(() => {
  file = { status: 200, body: 'bytes', headers: { 'content-type': 'image/png' } };
  world.service.requests = [];
});
afterAll(() => mute.giveUp());

/** A message with this address of a file, as a webhook told it. */
async function receive(mediaUrl: string | null, mediaType: string | null = 'image/png'): Promise<string> {
  count += 1;
  const message = {
    id: `m${count}`,
    wa_id: null,
    from: '447700900201',
    text: null,
    media_url: mediaUrl,
    media_type: mediaType,
    timestamp: world.clock.now(),
  };
  const event = { event: 'message.received', connection_id: 'c1', message };
  expect((await running.deliver(event, world.secret)).status).toBe(200);
  return message.id;
}

const atService = (): string => `${new URL(world.service.baseUrl).origin}/media/1`;
const get = (id: string): Promise<Response> =>
  fetch(`${running.url}/v1/messages/${id}/media`, { headers: { authorization: `Bearer ${TOKEN}` } });
const refusal = async (id: string): Promise<unknown[]> => {
  const answer = await get(id);
  const { error, message } = (await answer.json()) as { error: string; message: string };
  return [answer.status, error, message];
};

it('the file of a message is served as an attachment', async () => {
  const answer = await get(await receive(atService()));
  expect([answer.status, await answer.text()]).toEqual([200, 'bytes']);
  expect(answer.headers.get('content-disposition')).toMatch(/^attachment; filename="message-m\d+\.png"$/);
});

it('is fetched from the service of the account that has the connection now', async () => {
  const id = await receive(atService());
  await world.database.query(`update connector.messages set account_id = 'before' where id = $1`, [id]);
  expect((await get(id)).status).toBe(200);
});

it.each(['GET', 'HEAD'])('a file requested by %s runs nothing and is shown in no page', async (method) => {
  const id = await receive(atService());
  const headers = { authorization: `Bearer ${TOKEN}` };
  const answer = await fetch(`${running.url}/v1/messages/${id}/media`, { method, headers });
  await answer.text();
  expect(Object.fromEntries(answer.headers)).toMatchObject({
    'content-security-policy':
      "default-src 'none'; base-uri 'none'; object-src 'none'; frame-ancestors 'none'; sandbox",
    'cross-origin-resource-policy': 'same-origin',
    'referrer-policy': 'no-referrer',
    'cache-control': 'private, no-store',
    'x-content-type-options': 'nosniff',
  });
});

it('distinguishes a message without a file, without an address, and with a file that no longer exists', async () => {
  expect(await refusal(await receive(null, null))).toEqual([404, 'no_media', 'The message has no file.']);
  expect(await refusal(await receive(null))).toEqual([404, 'no_media', expect.stringMatching(/no address/)]);
  file = { status: 404, body: { error: 'not_found' } };
  expect(await refusal(await receive(atService()))).toEqual([410, 'media_gone', expect.any(String)]);
  expect(await refusal('nothing')).toEqual([404, 'not_found', expect.any(String)]);
});

it('reports that an address is not allowed, and never shows it', async () => {
  for (const url of ['http://169.254.169.254/latest', 'http://[::1]/x', 'file:///etc/passwd']) {
    const [status, error, message] = await refusal(await receive(url));
    expect([status, error]).toEqual([502, 'media_refused']);
    expect(message).not.toContain(url);
  }
  file = { status: 302, body: '', headers: { location: 'http://127.0.0.1:1/' } };
  expect(await refusal(await receive(atService()))).toEqual([502, 'media_refused', expect.any(String)]);
});

it('reports that the file is unavailable at the moment', async () => {
  const id = await receive(atService());
  for (file of [{ status: 503, body: 'x' } as const, 'reset' as const]) {
    expect(await refusal(id)).toEqual([502, 'service_unreachable', expect.any(String)]);
  }
});

const LATE = [503, 'unavailable', expect.stringContaining('within 10 s')];

it('ends after 10 s if the host of the file does not respond', async () => {
  const id = await receive(atService());
  const asked = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  world.service.onRequest = async ({ path }) => {
    if (!path.startsWith('/media/')) return;
    asked.resolve();
    await goOn.promise;
  };
  const refused = refusal(id);
  await asked.promise;
  await world.clock.advance(10_000);
  expect(await refused).toEqual(LATE);
  world.service.onRequest = () => undefined;
  goOn.resolve();
  expect((await get(id)).status).toBe(200);
});

it('reports by its status that a file broke off before its first byte', async () => {
  file = { status: 200, body: '', headers: { 'content-length': '1000' } };
  expect(await refusal(await receive(atService()))).toEqual([
    502,
    'service_unreachable',
    'The file could not be fetched.',
  ]);
});

// Whole clauses: what the process asks for by itself meanwhile must be answered.
it.each([
  ['the message', 'where connector.messages.id = $1 order by'],
  ['the service of its account', 'base_url, network from'],
])('ends after 10 s if the database does not respond to %s', async (_, clause) => {
  const id = await receive(atService());
  // So that it is the request that asks, and nothing that an earlier test has caused.
  await running.connector.settle();
  const asked = mute.mute(clause);
  const refused = refusal(id);
  await asked;
  mute.speak();
  await world.clock.advance(10_000);
  expect((await refused).slice(0, 2)).toEqual([503, 'unavailable']);
});

it('breaks off an answer whose source fails, so that a part is not mistaken for the whole file', async () => {
  file = { status: 200, body: 'half', headers: { 'content-length': '1000', connection: 'close' } };
  const answer = await get(await receive(atService()));
  expect(answer.status).toBe(200);
  const part = expect(answer.text()).rejects.toThrow();
  // What the service promised does not come within the time that there is.
  await world.clock.advance(120_000);
  await part;
});

it('fetches a limited number of files concurrently, and answers others with Retry-After', async () => {
  const id = await receive(atService());
  const asked = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  let held = 0;
  world.service.onRequest = async ({ path }) => {
    if (!path.startsWith('/media/')) return;
    held += 1;
    if (held === 32) asked.resolve();
    await goOn.promise;
  };
  const answers = Array.from({ length: 32 }, () => get(id).then((answer) => answer.text()));
  await asked.promise;
  // One that is refused holds no place afterwards.
  for (const next of await Promise.all(Array.from({ length: 32 }, () => get(id)))) {
    expect([next.status, next.headers.get('retry-after')]).toEqual([503, '2']);
    await next.body?.cancel();
  }
  goOn.resolve();
  expect(new Set(await Promise.all(answers))).toEqual(new Set(['bytes']));
  expect((await get(id)).status).toBe(200);
});
