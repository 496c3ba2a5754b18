import { beforeEach, describe, expect, it } from 'vitest';
import { proves } from '../../support/proves.ts';
import { PhoneService, refusal } from '../support/phone-service.ts';
import { type Answer, connectorOfFile } from '../support/running-connector.ts';

const { world, running } = connectorOfFile();
let phones: PhoneService;
/** A connection that was created and has not paired. */
let id: string;

beforeEach(async () => {
  phones = PhoneService.attach(world.service);
  await running.ask('POST', '/v1/connections');
  id = phones.newest;
  phones.calls = [];
  world.clock.forget();
});

const post = (action: string, body?: unknown, of = id): Promise<Answer> =>
  running.ask('POST', `/v1/connections/${of}/${action}`, { body });
const remove = (of = id): Promise<Answer> => running.ask('DELETE', `/v1/connections/${of}`);
const mirrored = async (of = id) => (await running.ask('GET', `/v1/connections/${of}`)).body;
const codeOf = ({ status, body }: Answer) => [status, body['error']];

/** What the feed tells of the connection after it was created. */
async function changes(): Promise<Record<string, unknown>[]> {
  await running.connector.settle();
  const { body } = await running.ask('GET', `/v1/changes?connectionId=${id}`);
  return (body['changes'] as { data: Record<string, unknown> }[]).map(({ data }) => data).slice(1);
}

describe('a logout', () => {
  it('is stored immediately, and reported in the feed', async () => {
    expect((await post('logout')).body).toEqual({ ok: true });
    expect(await mirrored()).toMatchObject({ status: 'disconnected', health: 'needs_reconnect' });
    expect(await changes()).toEqual([expect.objectContaining({ status: 'disconnected' })]);
    expect(running.notifier.notified).toContainEqual({ topic: 'poll', key: 'default', delayMs: 1_000 });
  });

  it('is repeated if its answer is lost', async () => {
    phones.lostAnswers.push('reset');
    const asked = post('logout');
    await world.clock.pass(600);
    expect((await asked).status).toBe(200);
    expect(phones.calls).toHaveLength(2);
  });

  it('succeeds even if the new state cannot be read from the service', async () => {
    phones.lostAnswers.push({ status: 200, body: { ok: true } }, 'reset');
    expect((await post('logout')).status).toBe(200);
    expect(await changes()).toEqual([]);
  });

  it('of a cloud_api number is refused as impossible', async () => {
    phones.script.push(refusal(409, 'not_supported_for_provider'));
    expect(codeOf(await post('logout'))).toEqual([409, 'not_supported_for_provider']);
  });

  it('is given up after four attempts', async () => {
    phones.script.push('reset', 'reset', 'reset', 'reset');
    const asked = post('logout');
    for (const wait of [600, 1_200, 2_400]) await world.clock.pass(wait);
    expect(codeOf(await asked)).toEqual([502, 'service_unreachable']);
    expect(phones.calls).toHaveLength(4);
  });
});

describe('a restart', () => {
  it('returns the connection to the state in which it can be paired', async () => {
    await post('logout');
    expect((await post('restart')).body).toEqual({ ok: true, recreated: true });
    expect(await mirrored()).toMatchObject({ status: 'connecting', health: 'connecting' });
    expect(await changes()).toMatchObject([{ status: 'disconnected' }, { status: 'connecting' }]);
  });

  it('does not overwrite what an event reports in the meantime', async () => {
    const event = {
      event: 'connection.disconnected',
      connection_id: id,
      connection: {
        id,
        phone_number: '447700900123',
        label: 'x',
        status: 'disconnected',
        needs_reconnect: true,
        license_status: 'active',
        license_expires: null,
        reason: 'AUTH_LOST',
      },
      timestamp: world.clock.now(),
    };
    world.service.onRequest = async ({ method, path }) => {
      if (method !== 'GET' || path !== `/connections/${id}`) return;
      world.service.onRequest = () => undefined;
      expect((await running.deliver(event, world.secret)).status).toBe(200);
    };
    await post('restart');
    expect(await mirrored()).toMatchObject({ status: 'disconnected', reason: 'AUTH_LOST' });
  });

  it('of a connection that no longer exists at the service marks it as deleted', async () => {
    phones.phones.delete(id);
    expect(codeOf(await post('restart'))).toEqual([404, 'not_found']);
    expect(await mirrored()).toMatchObject({ health: 'deleted', deletedAt: expect.any(String) });
    expect(await changes()).toEqual([expect.objectContaining({ deletedAt: expect.any(String) })]);
    expect(codeOf(await post('restart'))).toEqual([404, 'not_found']);
    expect(await changes()).toHaveLength(1);
  });

  it('that a proxy answers with 404 marks nothing, and is repeated', async () => {
    phones.script.push({ status: 404, body: '<html>' });
    const asked = post('restart');
    await world.clock.pass(600);
    expect((await asked).status).toBe(200);
    expect(await mirrored()).toMatchObject({ deletedAt: null });
  });

  it('of an unpaired connection that was created elsewhere stores the connection', async () => {
    phones.add('elsewhere', 'disconnected');
    expect((await post('restart', undefined, 'elsewhere')).status).toBe(200);
    expect(await mirrored('elsewhere')).toMatchObject({ status: 'connecting', accountId: 'default' });
  });
});

describe('a deletion', () => {
  it('of a connection that no poll has seen succeeds if its answer was lost and the next one is 404', async () => {
    phones.script.push('reset');
    const asked = remove('unseen');
    await world.clock.pass(600);
    expect((await asked).body).toEqual({ ok: true });
    expect(codeOf(await remove('nobody'))).toEqual([404, 'not_found']);
  });

  it('is final: the row stays for its messages, and no list shows it', async () => {
    expect((await remove()).body).toEqual({ ok: true });
    expect(await mirrored()).toMatchObject({ health: 'deleted', needsReconnect: false });
    const { body } = await running.ask('GET', '/v1/connections?limit=1000');
    expect((body['connections'] as { id: string }[]).map((each) => each.id)).not.toContain(id);
    expect(await changes()).toEqual([expect.objectContaining({ deletedAt: expect.any(String) })]);
  });

  it('ends sends: a new one is answered with 404, and the reference of an earlier one returns the same send', async () => {
    const send = (reference: string): Promise<Answer> =>
      running.ask('POST', '/v1/messages', {
        body: { connectionId: id, to: '447700900201', text: 'Good morning', reference },
      });
    const before = await send('before');
    expect(before.status).toBe(202);
    await remove();
    expect(codeOf(await send('after'))).toEqual([404, 'not_found']);
    expect((await running.ask('GET', `/v1/outbound?connectionId=${id}`)).body['outbound']).toHaveLength(1);
    expect((await send('before')).body).toEqual(before.body);
  });

  it('may be repeated', async () => {
    await remove();
    expect((await remove()).body).toEqual({ ok: true });
    expect(await changes()).toHaveLength(1);
  });

  it('is repeated if its answer is lost, and 404 is then a success', async () => {
    phones.lostAnswers.push('reset');
    const asked = remove();
    await world.clock.pass(600);
    expect((await asked).status).toBe(200);
    expect(phones.calls).toHaveLength(2);
    expect(await mirrored()).toMatchObject({ health: 'deleted' });
  });

  it.each([404, 302])('that a proxy answers each time with %i deletes nothing', async (status) => {
    phones.script.push(...Array.from({ length: 4 }, () => ({ status, body: '<html>' })));
    const asked = remove();
    for (const wait of [600, 1_200, 2_400]) await world.clock.pass(wait);
    expect(codeOf(await asked)).toEqual([502, 'service_unreachable']);
    expect(await mirrored()).toMatchObject({ deletedAt: null });
  });

  it('is in doubt, and repeated, if the answer does not say that it is done', async () => {
    phones.script.push({ status: 200, body: { ok: false } }, { status: 200, body: {} });
    const asked = remove();
    await world.clock.pass(600);
    await world.clock.pass(1_200);
    expect((await asked).status).toBe(200);
    expect(phones.calls).toHaveLength(3);
    expect(await mirrored()).toMatchObject({ health: 'deleted' });
  });

  it('of an unknown connection is answered with 404', async () => {
    expect(codeOf(await remove('nothing'))).toEqual([404, 'not_found']);
  });

  it('is undone if a list of the service shows the connection again, because a key had been restricted', async () => {
    await running.runPolls();
    world.service.addConnection(id, { status: 'open' });
    await running.ask('POST', '/v1/sync');
    phones.phones.delete(id);
    await remove();
    expect(await mirrored()).toMatchObject({ health: 'deleted' });
    await running.ask('POST', '/v1/sync');
    expect(await mirrored()).toMatchObject({ health: 'working', deletedAt: null });
    world.service.connections = [];
    await running.ask('POST', '/v1/sync');
    expect(await mirrored()).toMatchObject({ health: 'hidden' });
  });
});

describe('a pairing code', () => {
  it('is returned as the service issues it', async () => {
    expect((await post('pairing-code', { phoneNumber: '447700900123' })).body).toEqual({ code: 'ABCD-1234' });
  });

  it('that is unavailable is answered with a reference to QR codes', async () => {
    proves('connections.pairing-code.fallback');
    phones.script.push(refusal(502, 'pairing_code_unavailable'));
    const answer = await post('pairing-code', { phoneNumber: '447700900123' });
    expect(codeOf(answer)).toEqual([502, 'pairing_code_unavailable']);
    expect(answer.body['message']).toContain(`GET /v1/connections/${id}/pairing`);
    const pictures = await fetch(`${running.url}/v1/connections/${id}/pairing`, {
      headers: { authorization: 'Bearer connector-token' },
    });
    expect([pictures.status, pictures.headers.get('content-type')]).toEqual([
      200,
      expect.stringContaining('text/event-stream'),
    ]);
    await pictures.body?.cancel();
  });

  it.each([
    [400, 'invalid_phone_number', 400],
    [409, 'already_connected', 409],
    [409, 'not_supported_for_provider', 409],
  ])('that is refused with %i %s is reported as such', async (status, code, answered) => {
    phones.script.push(refusal(status, code));
    expect(codeOf(await post('pairing-code', { phoneNumber: '+44 7700' }))).toEqual([answered, code]);
    expect(phones.calls).toHaveLength(1);
  });

  it('beyond the limit is refused with Retry-After', async () => {
    phones.script.push(refusal(429, 'rate_limited', { 'retry-after': '600' }));
    const answer = await post('pairing-code', { phoneNumber: '447700900123' });
    expect([...codeOf(answer), answer.headers.get('retry-after')]).toEqual([429, 'rate_limited', '600']);
  });

  it('is never requested twice, because each request counts', async () => {
    phones.lostAnswers.push('reset');
    expect(codeOf(await post('pairing-code', { phoneNumber: '447700900123' }))).toEqual([
      502,
      'service_unreachable',
    ]);
    expect(phones.calls).toHaveLength(1);
  });

  it('of a connection that no longer exists at the service marks it as deleted', async () => {
    phones.phones.delete(id);
    expect(codeOf(await post('pairing-code', { phoneNumber: '447700900123' }))).toEqual([404, 'not_found']);
    expect(await mirrored()).toMatchObject({ health: 'deleted' });
  });

  it('requires a phone number', async () => {
    expect(codeOf(await post('pairing-code', {}))).toEqual([400, 'invalid_request']);
    expect(phones.calls).toEqual([]);
  });
});

describe('a read receipt', () => {
  const read = (body: object) => running.ask('POST', '/v1/read-receipts', { body });

  it('is passed on, and repeated if its answer is lost', async () => {
    phones.lostAnswers.push('reset');
    const asked = read({ connectionId: id, messageId: 'm1', phone: '447700900201' });
    await world.clock.pass(600);
    expect((await asked).body).toEqual({ ok: true, marked: 2 });
    expect(world.service.requests.at(-1)?.body).toBe(
      JSON.stringify({ connectionId: id, phone: '447700900201', messageId: 'm1' }),
    );
    expect(phones.calls).toEqual(['POST /messages/read', 'POST /messages/read']);
  });

  it.each([
    [402, 'license_inactive', 402],
    [402, 'addon_required', 402],
    [404, 'not_found', 404],
    [429, 'rate_limited', 429],
  ])(
    'that is refused with %i %s is reported as such, and deletes nothing',
    async (status, code, answered) => {
      phones.script.push(refusal(status, code));
      const answer = await read({ connectionId: id, messageId: 'm1' });
      expect(codeOf(answer)).toEqual([answered, code]);
      expect(answer.headers.get('retry-after')).toBe(answered === 429 ? '5' : null);
      expect(await mirrored()).toMatchObject({ deletedAt: null });
    },
  );

  it('requires a phone number or a message', async () => {
    expect(codeOf(await read({ connectionId: id }))).toEqual([400, 'invalid_request']);
    expect(phones.calls).toEqual([]);
  });
});
