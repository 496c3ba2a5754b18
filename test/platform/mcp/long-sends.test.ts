import { beforeEach, describe, expect, it } from 'vitest';
import { proves } from '../../support/proves.ts';
import { WatchedClock } from '../../support/watched-clock.ts';
import { worldOfFile } from '../oauth/oauth-fixture.ts';
import { type CallOptions, callTool, request, type ToolResult } from './tool-fixture.ts';

/** Draws near 1 and a long text: nearly 2 minutes for the session to heal, 20 s to type. */
const DRAW = 0.999;
const LONG_TEXT = 'a'.repeat(1_000);
const SEND_MS = 119_900 + 20_000;

const clock = new WatchedClock();
const world = worldOfFile(undefined, { clock, sendScale: 1, ports: { random: () => DRAW } });
let token: string;
let to: string;
let nextPhone = 4915500000000;
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

describe('a send that takes two and a half minutes', () => {
  it('is answered when it has ended, and made once however often a model repeats the call with its key', async () => {
    proves('tools.send', 'choice.tools.key');
    await wearSession();
    const idempotencyKey = 'of the model';
    const first = send({ idempotencyKey }, { modern: true });
    await clock.timerSet(SEND_MS);
    expect((await send({ idempotencyKey })).text).toMatch(/^in_progress: .*Do not resend it/);
    await advance(SEND_MS);
    const { output } = await first;
    expect(output).toMatchObject({ status: 'sent', idempotencyKey, alreadySent: false });
    expect((await send({ idempotencyKey })).output).toMatchObject({ alreadySent: true });
    expect(await received()).toMatchObject([{ messageId: output['messageId'], text: LONG_TEXT }]);
  });

  it('continues without its client, and is found by the next call', async () => {
    await wearSession();
    const gone = new AbortController();
    const { body } = request('tools/call', {
      name: 'send_messaging_message',
      arguments: { connectionId: world.connectionId, to, text: LONG_TEXT, idempotencyKey: 'lost' },
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
    await world.service.platform.settle();
    const { output } = await send({ idempotencyKey: 'lost' });
    expect(output).toMatchObject({ status: 'sent', alreadySent: true });
    expect(await received()).toHaveLength(1);
  });

  it('does not delay a request for changes, which is answered that there are none', async () => {
    const { origin } = world.service;
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
    expect(await answer.text()).toContain('notifications/subscriptions/acknowledged');
  });
});
