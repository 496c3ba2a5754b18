import { beforeEach, describe, expect, test } from 'vitest';
import { sendMessageAnswer } from '../../../src/contract/service/messages.ts';
import { createCallEdge } from '../../../src/sandbox/faults/around-calls.ts';
import type { Fault } from '../../../src/sandbox/faults/fault.ts';
import { ofFile } from '../../support/of-file.ts';
import { readExactly, seedWorkspace, startTestPlatform } from '../../support/platform.ts';
import { WatchedClock } from '../../support/watched-clock.ts';

describe('faults of the API', () => {
  const service = ofFile(() =>
    startTestPlatform({
      clock,
      ports: createCallEdge({
        api: {
          decide(call) {
            calls.push(call);
            return faults;
          },
        },
        oauth: { decide: () => authFaults },
      }),
    }),
  );
  let seeded: Awaited<ReturnType<typeof seedWorkspace>>;
  const clock = new WatchedClock();
  let faults: readonly Fault[] = [];
  let authFaults: readonly Fault[] = [];
  let calls: { method: string; path: string }[] = [];
  /** A number that no other test sends to. */
  let to = '4915700000001';

  beforeEach(async () => {
    faults = [];
    authFaults = [];
    calls = [];
    to = `${Number(to) + 1}`;
    seeded = await seedWorkspace(service);
  });

  const send = (idempotencyKey?: string) =>
    service.call('POST', '/messages', {
      key: seeded.key,
      body: { connectionId: seeded.connectionId, to, text: 'hello', idempotencyKey },
      faulted: faults.some(({ type }) => type === 'status'),
    });

  test('are decided once per call, by method and path below the base URL', async () => {
    await service.call('GET', '/messages?limit=5', { key: seeded.key });
    await service.call('PATCH', '/nothing/here');
    expect(calls.map(({ method, path }) => ({ method, path }))).toEqual([
      { method: 'GET', path: '/messages' },
      { method: 'PATCH', path: '/nothing/here' },
    ]);
  });

  test.each([
    [{ code: 429, error: 'warmup_limited', retryAfter: 30 }, { error: 'warmup_limited' }, '30'],
    [{ code: 500 }, { error: 'internal_error' }, null],
    [{ code: 429 }, { error: 'warmup_limited' }, null],
    [{ code: 401 }, { error: 'invalid_key' }, null],
    [{ code: 503 }, { error: 'internal_error' }, null],
    [{ code: 409 }, { error: 'in_progress' }, null],
  ])('status: the fault answers instead of the service: %j', async (fault, body, retryAfter) => {
    faults = [{ type: 'status', ...fault }];
    const answer = await send();
    expect([answer.status, answer.body, answer.headers.get('retry-after')]).toEqual([
      fault.code,
      body,
      retryAfter,
    ]);
    expect(await service.platform.contacts.received(to)).toEqual([]);
  });

  test.each([
    ['GET', '/messages', 429, 'rate_limited'],
    ['POST', '/connections/{id}/pairing-code', 429, 'rate_limited'],
    ['POST', '/connections/{id}/pairing-code', 409, 'already_connected'],
    ['POST', '/connections/{id}/pairing-code', 502, 'pairing_code_unavailable'],
    ['POST', '/connections', 409, 'idempotency_in_progress'],
    ['GET', '/account', 502, 'internal_error'],
    ['GET', '/account', 403, 'ip_not_allowed'],
    ['GET', '/account', 404, 'not_found'],
  ] as const)('status: has a code that fits %s %s: %i is %s', async (method, path, code, error) => {
    faults = [{ type: 'status', code }];
    const answer = await service.call(method, path.replace('{id}', seeded.connectionId), {
      key: seeded.key,
      faulted: true,
    });
    expect([answer.status, answer.body]).toEqual([code, { error }]);
  });

  test('reset: the connection ends and nothing happens', async () => {
    faults = [{ type: 'reset' }];
    await expect(send()).rejects.toThrow('fetch failed');
    expect(await service.platform.contacts.received(to)).toEqual([]);
  });

  test('lost_answer: the connection ends after the call took effect, and the key returns its answer', async () => {
    faults = [{ type: 'lost_answer' }];
    await expect(send('k')).rejects.toThrow('fetch failed');
    expect(await service.platform.contacts.received(to)).toHaveLength(1);
    faults = [];
    const retry = await send('k');
    expect(retry.status).toBe(200);
    expect(await service.platform.contacts.received(to)).toHaveLength(1);
  });

  test('delay: the call is held before it is handled', async () => {
    faults = [{ type: 'delay', ms: 30_000 }];
    const call = send();
    await clock.timerSet(30_000);
    faults = [];
    // Of others, more are answered meanwhile than it takes to carry it out.
    for (let others = 0; others < 5; others += 1) await service.call('GET', '/messages', { key: seeded.key });
    expect(await service.platform.contacts.received(to)).toEqual([]);
    await clock.advance(30_000);
    expect((await call).status).toBe(200);
  });

  test('not_persisted: the phone receives the message, the service stores nothing, and the key remembers the answer', async () => {
    faults = [{ type: 'not_persisted' }];
    const answer = await send('k');
    const sent = readExactly(sendMessageAnswer, answer.body);
    expect([answer.status, sent]).toEqual([
      200,
      { messageId: null, waMessageId: expect.any(String), status: 'sent', persisted: false },
    ]);
    faults = [];
    expect((await send('k')).body).toEqual(answer.body);
    expect(await service.platform.contacts.received(to)).toHaveLength(1);
    expect((await service.call('GET', '/messages', { key: seeded.key })).body).toMatchObject({
      messages: [],
    });
    const ledger = await service.platform.ledger.read({}, 1_000);
    expect(ledger.filter(({ workspaceId }) => workspaceId === seeded.workspaceId)).toEqual([]);
  });

  test('are waited for by settle', async () => {
    faults = [{ type: 'delay', ms: 20_000 }];
    const call = send();
    await clock.timerSet(20_000);
    let settled = false;
    const settling = service.platform.settle().then(() => {
      settled = true;
    });
    await clock.advance(19_999);
    expect(settled).toBe(false);
    await clock.advance(1);
    await Promise.all([call, settling]);
    expect(settled).toBe(true);
  });

  test.each([
    '/.well-known/oauth-authorization-server',
    '/.well-known/oauth-protected-resource/api/mcp',
    '/api/mcp',
  ])('apply below the authorization server as well: %s', async (path) => {
    authFaults = [{ type: 'status', code: 503, retryAfter: 7 }];
    const answer = await fetch(`${service.origin}${path}`);
    expect([answer.status, answer.headers.get('retry-after'), await answer.json()]).toEqual([
      503,
      '7',
      { error: 'temporarily_unavailable', error_description: 'a fault of the sandbox' },
    ]);
  });
});
