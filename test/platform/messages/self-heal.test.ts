import { beforeEach, describe, expect, it } from 'vitest';
import type { OutageCause } from '../../../src/contract/sandbox/connections.ts';
import { countWaiting } from '../../support/database.ts';
import { ofFile } from '../../support/of-file.ts';
import { seedWorkspace, startTestPlatform } from '../../support/platform.ts';
import { proves } from '../../support/proves.ts';
import { WatchedClock } from '../../support/watched-clock.ts';

/** With draws of 0: 20 s for a session to heal and 1 s to type nothing much; 130 s until it is given up. */
const TYPING_MS = 1_060;
const HEALS_MS = 20_000 + TYPING_MS;
const GIVEN_UP_MS = 130_000 + TYPING_MS;
let nextPhone = 4915500000000;

describe('a send through a broken session', () => {
  const clock = new WatchedClock();
  const service = ofFile(() => startTestPlatform({ clock, sendScale: 1, ports: { random: () => 0 } }));
  let seeded: Awaited<ReturnType<typeof seedWorkspace>>;
  let to: string;
  beforeEach(async () => {
    seeded = await seedWorkspace(service);
    to = String(nextPhone++);
  });

  const send = () =>
    service.call('POST', '/messages', {
      key: seeded.key,
      body: { connectionId: seeded.connectionId, to, text: 'hi' },
    });
  const breakSession = (cause: OutageCause, heals = false) =>
    service.platform.outages.begin(seeded.connectionId, { cause, heals });
  const advance = (ms: number) => service.platform.time.advance({ ms });
  const received = () => service.platform.contacts.received(to);
  const events = async () =>
    (await service.platform.ledger.read({}, 100))
      .filter(({ connectionId }) => connectionId === seeded.connectionId)
      .map(({ event, status }) => status ?? event);

  it('waits for one that heals, then succeeds, and the outage is not reported', async () => {
    proves('messages.send.latency-heal', 'service.qr.self-heal', 'limits.send-humanization');
    await breakSession('session_ageing', true);
    const sending = send();
    await clock.timerSet(HEALS_MS);
    await advance(HEALS_MS - 1);
    expect(await received()).toEqual([]);
    await advance(1);
    expect((await sending).status).toBe(200);
    expect(await received()).toHaveLength(1);
    await advance(30 * 60_000);
    expect(await events()).toEqual(['sent', 'read', 'delivered']);
  });

  it('waits at most about two and a half minutes for an ageing one, then fails and frees its key', async () => {
    proves('errors.send_failed', 'messages.send.latency-heal');
    await breakSession('session_ageing');
    const sending = send();
    await clock.timerSet(GIVEN_UP_MS);
    await advance(GIVEN_UP_MS);
    const answer = await sending;
    expect([answer.status, answer.body]).toEqual([502, { error: 'send_failed' }]);
    expect(GIVEN_UP_MS).toBeLessThanOrEqual(150_000);
    expect(await received()).toEqual([]);
    expect(await service.database.query('SELECT 1 FROM platform.sends')).toEqual([]);
  });

  it('succeeds if the session is restored in the meantime', async () => {
    await breakSession('session_ageing');
    const sending = send();
    await clock.timerSet(GIVEN_UP_MS);
    await service.platform.outages.recover(seeded.connectionId);
    await advance(GIVEN_UP_MS);
    expect((await sending).status).toBe(200);
  });

  it('fails if the session breaks during the send', async () => {
    const sending = send();
    await clock.timerSet(TYPING_MS);
    await breakSession('zombie');
    await advance(TYPING_MS);
    expect((await sending).body).toEqual({ error: 'send_failed' });
    expect(await received()).toEqual([]);
  });

  it('fails if the connection is deleted during the send', async () => {
    const sending = send();
    await clock.timerSet(TYPING_MS);
    const { key, connectionId } = seeded;
    expect((await service.call('DELETE', `/connections/${connectionId}`, { key })).status).toBe(200);
    await advance(TYPING_MS);
    expect((await sending).status).toBe(502);
    expect(await received()).toEqual([]);
  });

  it('fails at once if the session cannot heal, although the connection is shown as connected', async () => {
    for (const cause of ['zombie', 'session_lost', 'opened_elsewhere', 'phone_off'] as const) {
      await breakSession(cause);
      const { body } = await service.call('GET', '/connections', { key: seeded.key });
      expect(body).toMatchObject({ connections: [{ status: 'open' }] });
      const answer = await send();
      expect([cause, answer.status, answer.body]).toEqual([cause, 502, { error: 'send_failed' }]);
      await service.platform.outages.recover(seeded.connectionId);
    }
    expect(await received()).toEqual([]);
  });
});

describe('a send that does not wait', () => {
  const service = ofFile(() => startTestPlatform());

  it.each([
    { end: 'a logout', method: 'POST', path: '/logout', status: 502, body: { error: 'send_failed' } },
    { end: 'a deletion', method: 'DELETE', path: '', status: 404, body: { error: 'not_found' } },
  ])('fails if $end ends the session before it is stored', async ({ method, path, status, body }) => {
    const { key, workspaceId, connectionId } = await seedWorkspace(service);
    const to = String(nextPhone++);
    const waiting = (count: number) => expect.poll(() => countWaiting(service.database)).toBe(count);
    const { ending, sending } = await service.database.transaction(async (tx) => {
      await tx.query('SELECT 1 FROM platform.workspaces WHERE id = $1 FOR NO KEY UPDATE', [workspaceId]);
      const ending = service.call(method, `/connections/${connectionId}${path}`, { key });
      await waiting(1);
      const message = { connectionId, to, text: 'hi', idempotencyKey: to };
      const sending = service.call('POST', '/messages', { key, body: message });
      await waiting(2);
      return { ending, sending };
    });
    expect((await ending).status).toBe(200);
    const answer = await sending;
    expect([answer.status, answer.body]).toEqual([status, body]);
    expect(await service.platform.contacts.received(to)).toEqual([]);
    const kept = 'SELECT 1 FROM platform.sends WHERE workspace_id = $1';
    expect(await service.database.query(kept, [workspaceId])).toEqual([]);
  });
});
