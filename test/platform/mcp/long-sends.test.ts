import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { proves } from '../../support/proves.ts';
import { WatchedClock } from '../../support/watched-clock.ts';
import { type OauthWorld, startOauthWorld } from '../oauth/oauth-fixture.ts';
import { type CallOptions, callTool, request, type ToolResult } from './tool-fixture.ts';

/** Draws near 1 and a long text: nearly 2 minutes for the session to heal, 20 s to type. */
const DRAW = 0.999;
const LONG_TEXT = 'a'.repeat(1_000);
const SEND_MS = 119_900 + 20_000;
const TICK_MS = 5_000;
const PATIENCE_MS = 45_000;

let world: OauthWorld;
let clock: WatchedClock;
let token: string;
let to: string;
let nextPhone = 4915500000000;
beforeAll(async () => {
  clock = new WatchedClock();
  world = await startOauthWorld(undefined, { clock, sendScale: 1, ports: { random: () => DRAW } });
});
afterAll(() => world.service.close());
beforeEach(async () => {
  clock.forget();
  to = String(nextPhone++);
  // Time moves by minutes here, and a token lives for 15 of them.
  token = (await world.obtainTokens(await world.register())).access;
});

const send = (given: object = {}, options: CallOptions = {}): Promise<ToolResult> =>
  callTool(
    world.service.origin,
    token,
    'send_messaging_message',
    { connectionId: world.connectionId, to, text: LONG_TEXT, ...given },
    options,
  );
const advance = (ms: number) => world.service.platform.time.advance({ ms });
const received = () => world.service.platform.contacts.received(to);
const wearSession = () =>
  world.service.platform.outages.begin(world.connectionId, { cause: 'session_ageing', heals: true });

/** Every five seconds until the end of a call's patience, as `move` lets them pass. */
async function outlast(move: (ms: number) => Promise<unknown>): Promise<void> {
  for (let gone = TICK_MS; gone < PATIENCE_MS; gone += TICK_MS) {
    await clock.timerSet(TICK_MS);
    await move(TICK_MS);
  }
  await move(TICK_MS);
}

const EVERY_TICK = [5, 10, 15, 20, 25, 30, 35, 40];

describe('a send that takes two and a half minutes', () => {
  it(
    'reports progress, answers early, and is made once however often a model repeats the call',
    proves('tools.send', 'choice.tools.early'),
    async () => {
      await wearSession();
      const first = send({}, { progressToken: 'p1' });
      await clock.timerSet(SEND_MS);
      await outlast(advance);
      const early = await first;
      expect(early.progress.map(({ progress }) => progress)).toEqual(EVERY_TICK);
      expect(early.progress.every(({ progressToken }) => progressToken === 'p1')).toBe(true);
      expect(early).toMatchObject({ isError: false, output: { status: 'in_progress', messageId: null } });
      expect(early.output['note']).toMatch(/Do not resend/);
      const { idempotencyKey } = early.output;
      await clock.timerSet(PATIENCE_MS);

      // Without the key, as a model that never saw the answer, and with it; in both eras of the protocol.
      const repeats = [send(), send({}, { modern: true }), send({ idempotencyKey })];
      for (const _ of repeats) await clock.timerSet(PATIENCE_MS);
      await advance(PATIENCE_MS);
      for (const repeat of await Promise.all(repeats)) {
        expect(repeat.output).toMatchObject({ status: 'in_progress', idempotencyKey });
      }
      expect(await received()).toEqual([]);

      await advance(SEND_MS - 2 * PATIENCE_MS - 1_000);
      const last = send({}, { modern: true, progressToken: 'p2' });
      await clock.timerSet(PATIENCE_MS);
      await advance(1_000);
      const { output } = await last;
      expect(output).toMatchObject({ status: 'sent', idempotencyKey, alreadySent: true });
      expect(await received()).toMatchObject([{ messageId: output['messageId'], text: LONG_TEXT }]);
      expect((await send({ idempotencyKey })).output).toEqual(output);
      expect(await received()).toHaveLength(1);
    },
  );

  it('does so in real time as well if virtual time is frozen', async () => {
    await world.service.platform.time.freeze();
    await wearSession();
    const first = send({}, { modern: true, progressToken: 'p' });
    await clock.timerSet(SEND_MS);
    await outlast((ms) => clock.advance(ms));
    const early = await first;
    expect(early.progress.map(({ progress }) => progress)).toEqual(EVERY_TICK);
    expect(early.output).toMatchObject({ status: 'in_progress' });
    await world.service.platform.time.run();
    await advance(SEND_MS);
    expect((await send()).output).toMatchObject({ status: 'sent', alreadySent: true });
    expect(await received()).toHaveLength(1);
  });

  it('continues without its client, and is found by the next call', async () => {
    await wearSession();
    const gone = new AbortController();
    const { body } = request('tools/call', {
      name: 'send_messaging_message',
      arguments: { connectionId: world.connectionId, to, text: LONG_TEXT },
    });
    const first = fetch(`${world.service.origin}/api/mcp`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        authorization: `Bearer ${token}`,
      },
      body,
      signal: gone.signal,
    }).then((answer) => answer.text());
    await clock.timerSet(SEND_MS);
    gone.abort();
    await expect(first).rejects.toThrow('abort');
    await advance(SEND_MS);
    expect((await send()).output).toMatchObject({ status: 'sent', alreadySent: true });
    expect(await received()).toHaveLength(1);
  });

  it('reports no progress to a client that did not request it', async () => {
    await wearSession();
    const first = send();
    await clock.timerSet(SEND_MS);
    await outlast(advance);
    expect(await first).toMatchObject({ progress: [], output: { status: 'in_progress' } });
    await advance(SEND_MS);
    expect((await send()).output).toMatchObject({ status: 'sent' });
  });

  it('does not delay a stream of changes, which ends when the service stops', async () => {
    const { origin, platform } = world.service;
    const { body, headers } = request(
      'subscriptions/listen',
      { notifications: { toolsListChanged: true } },
      { modern: true },
    );
    const answer = await fetch(`${origin}/api/mcp`, {
      method: 'POST',
      headers: {
        ...headers,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        authorization: `Bearer ${token}`,
      },
      body,
    });
    expect(answer.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    await platform.settle();
    platform.endWaits();
    expect(await answer.text()).toContain('notifications/subscriptions/acknowledged');
    await world.service.restart();
  });

  it('answers waiting clients when the service stops, and is made once by the next service', async () => {
    await wearSession();
    const first = send({}, { modern: true });
    await clock.timerSet(SEND_MS);
    await clock.timerSet(PATIENCE_MS);
    world.service.platform.endWaits();
    const { idempotencyKey } = (await first).output;
    expect((await first).output).toMatchObject({ status: 'in_progress' });
    await world.service.restart();
    expect(await received()).toEqual([]);
    const repeat = send();
    await clock.timerSet(SEND_MS);
    await advance(SEND_MS);
    expect((await repeat).output).toMatchObject({ idempotencyKey });
    expect((await send()).output).toMatchObject({ status: 'sent', idempotencyKey });
    expect(await received()).toHaveLength(1);
  });
});
