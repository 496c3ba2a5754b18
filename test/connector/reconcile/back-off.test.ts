import { beforeEach, describe, expect, it } from 'vitest';
import { readPollState } from '../../../src/connector/accounts/poll-state.ts';
import { backOff } from '../../../src/connector/reconcile/account-poller.ts';
import { ServiceRefusal, ServiceUnreachable } from '../../../src/connector/service-client/service-errors.ts';
import { StalledWalk } from '../../../src/patterns/reconcile-walk.ts';
import { proves } from '../../support/proves.ts';
import { ACCOUNT, pollBenchOfTest } from '../support/poll-bench.ts';

describe('the wait after a failure', () => {
  const waitAfter = (error: unknown, failures: number, random = 0, answered = false) =>
    backOff({ error, failures, answered }, random);
  const refused = new ServiceRefusal({ status: 403, code: 'insufficient_scope', retryAfterMs: null });
  const limited = new ServiceRefusal({ status: 429, code: 'rate_limited', retryAfterMs: 20_000 });

  it('doubles up to five minutes', () => {
    proves('errors.client.without-retry-after');
    const waits = [1, 2, 3, 4, 5, 6, 1_000].map((failures) => waitAfter(refused, failures).waitMs);
    expect(waits).toEqual([15_000, 30_000, 60_000, 120_000, 240_000, 300_000, 300_000]);
  });

  it.each([
    ['a lost connection', new ServiceUnreachable('network')],
    ['no connection', new ServiceUnreachable('connect')],
    ['the page of a proxy', new ServiceRefusal({ status: 503, code: 'http_503', retryAfterMs: null })],
    ['a service that broke down', new ServiceRefusal({ status: 500, code: 'internal_error' })],
  ])('is at most eight seconds after %s, because a poll detects that the service is back', (_what, error) => {
    const waits = [1, 2, 3, 4, 1_000].map((failures) => waitAfter(error, failures).waitMs);
    expect(waits).toEqual([2_000, 4_000, 8_000, 8_000, 8_000]);
  });

  it.each([
    ['a page of messages', new ServiceRefusal({ status: 500, code: 'internal_error' })],
    ['a page of messages that never came', new ServiceUnreachable('deadline')],
  ])('is the usual one if the service answers, but not with %s', (_what, error) => {
    const waits = [1, 2, 3].map((failures) => waitAfter(error, failures, 0, true).waitMs);
    expect(waits).toEqual([15_000, 30_000, 60_000]);
  });

  it('doubles from half a minute if the list of messages does not end', () => {
    const waits = [1, 2, 3, 4, 5].map((failures) => waitAfter(new StalledWalk(), failures).waitMs);
    expect(waits).toEqual([30_000, 60_000, 120_000, 240_000, 300_000]);
  });

  it.each([0, 1_000])('is at least 15 s if the service asks for %i ms', (retryAfterMs) => {
    for (const status of [429, 503]) {
      const error = new ServiceRefusal({ status, code: 'rate_limited', retryAfterMs });
      expect(waitAfter(error, 1)).toEqual({ waitMs: 15_000, asked: true });
      expect(waitAfter(error, 9, 1)).toEqual({ waitMs: 16_000, asked: true });
    }
  });

  it.each([
    [429, 'http_429', 24 * 3_600_000],
    [503, 'rate_limited', 24 * 3_600_000],
    [503, 'http_503', 300_000],
    [500, 'internal_error', 300_000],
  ])(
    'of a day, asked for by %i %s, is at most five minutes unless it is a limit of calls',
    (status, code, waitMs) => {
      const error = new ServiceRefusal({ status, code, retryAfterMs: 24 * 3_600_000 });
      expect(waitAfter(error, 1)).toEqual({ waitMs, asked: true });
    },
  );

  it('is spread by up to half', () => {
    expect(waitAfter(refused, 1, 1).waitMs).toBe(7_500);
    expect(waitAfter(refused, 1, 0.5).waitMs).toBe(11_250);
  });

  it('is at least what the service asked for', () => {
    expect(waitAfter(limited, 9)).toEqual({ waitMs: 20_000, asked: true });
    expect(waitAfter(limited, 9, 1)).toEqual({ waitMs: 21_000, asked: true });
  });
});

describe('an account whose polls fail', () => {
  const bench = pollBenchOfTest();
  beforeEach(async () => {
    bench.service.addConnection('c1');
  });

  const failing =
    (status: number, error: string, headers: Record<string, string> = {}) =>
    () => ({ status, body: { error }, headers });

  it('is not polled until its back-off is over', async () => {
    bench.service.fault = failing(500, 'internal_error');
    expect(await bench.poll()).toMatchObject({
      kind: 'failed',
      asked: false,
      retryAt: bench.clock.now() + 2_000,
    });
    bench.service.requests = [];
    await bench.clock.advance(1_999);
    expect(await bench.poll()).toMatchObject({ kind: 'waiting', errorCode: 'internal_error' });
    expect(bench.service.requests).toEqual([]);
    await bench.clock.advance(1);
    expect(await bench.poll()).toMatchObject({ kind: 'failed', retryAt: bench.clock.now() + 4_000 });
  });

  it('is polled earlier on demand, but not before the time that the service asked for', async () => {
    bench.service.fault = failing(500, 'internal_error');
    await bench.poll();
    expect(await bench.poll({ onDemand: true })).toMatchObject({ kind: 'failed' });
    bench.service.fault = failing(429, 'rate_limited', { 'retry-after': '20' });
    await bench.poll({ onDemand: true });
    bench.service.requests = [];
    await bench.clock.advance(19_999);
    expect(await bench.poll({ onDemand: true })).toMatchObject({ kind: 'waiting', asked: true });
    expect(bench.service.requests).toEqual([]);
    bench.service.fault = () => undefined;
    await bench.clock.advance(1);
    expect(await bench.poll()).toMatchObject({ kind: 'done' });
  });

  it('reports once that the service answers again, also if it refuses', async () => {
    const told: string[] = [];
    const poller = { onServiceBack: (accountId: string) => void told.push(accountId) };
    await bench.poll({}, poller);
    expect(told).toEqual([]);
    for (const fault of [failing(503, 'http_503'), () => 'reset' as const]) {
      bench.service.fault = fault;
      expect(await bench.poll({ onDemand: true }, poller)).toMatchObject({ kind: 'failed' });
      expect(told).toEqual([]);
    }
    bench.service.fault = failing(403, 'insufficient_scope');
    await bench.poll({ onDemand: true }, poller);
    expect(told).toEqual([ACCOUNT]);
    bench.service.fault = () => undefined;
    await bench.clock.advance(5_000);
    await bench.poll({ onDemand: true }, poller);
    await bench.poll({ onDemand: true }, poller);
    expect(told).toEqual([ACCOUNT, ACCOUNT]);
  });

  it.each([
    [0, []],
    [1, [ACCOUNT]],
  ])('reports of a refusal after %i failures of the service: %j', async (failures, expected) => {
    const told: string[] = [];
    const poller = { onServiceBack: (accountId: string) => void told.push(accountId) };
    bench.service.fault = failing(503, 'http_503');
    for (let count = 0; count < failures; count += 1) await bench.poll({ onDemand: true }, poller);
    bench.service.fault = failing(403, 'insufficient_scope');
    await bench.poll({ onDemand: true }, poller);
    expect(told).toEqual(expected);
  });

  it('waits for 15 s if the service answers, but not with messages', async () => {
    bench.service.fault = ({ path }) =>
      path === '/messages' ? { status: 503, body: { error: 'http_503' } } : undefined;
    expect(await bench.poll()).toMatchObject({ kind: 'failed', retryAt: bench.clock.now() + 15_000 });
  });

  it('starts from the shortest wait after a successful poll', async () => {
    bench.service.fault = failing(500, 'internal_error');
    await bench.poll();
    await bench.poll({ onDemand: true });
    bench.service.fault = () => undefined;
    await bench.poll({ onDemand: true });
    expect(await readPollState(bench.database, ACCOUNT)).toMatchObject({
      failures: 0,
      notBefore: null,
      lastErrorCode: null,
      needsFullSweep: false,
    });
  });

  it('is not polled again with a refused key, and immediately with another', async () => {
    proves('errors.client.never-retries-key', 'errors.client.branches-on-code');
    bench.service.apiKeys.clear();
    expect(await bench.poll()).toEqual({ kind: 'refused', code: 'invalid_key' });
    bench.service.requests = [];
    await bench.clock.advance(30 * 24 * 60 * 60_000);
    expect(await bench.poll({ onDemand: true })).toEqual({ kind: 'refused', code: 'invalid_key' });
    expect(bench.service.requests).toEqual([]);
    expect(await readPollState(bench.database, ACCOUNT)).toMatchObject({ lastErrorCode: 'invalid_key' });
    bench.service.apiKeys.add('key-2');
    await bench.configure({ service: { baseUrl: bench.service.baseUrl, apiKey: 'key-2' } });
    expect(await bench.poll({ onDemand: true })).toMatchObject({ kind: 'done' });
  });

  it('is still polled after a 401 that does not say that the key is unknown', async () => {
    proves('errors.client.branches-on-code');
    bench.service.fault = failing(401, 'brand_new');
    expect(await bench.poll()).toMatchObject({ kind: 'failed' });
    bench.service.fault = () => undefined;
    await bench.clock.advance(60_000);
    expect(await bench.poll()).toMatchObject({ kind: 'done' });
  });

  it('does not count a stop of the process as a failure', async () => {
    const stop = new AbortController();
    bench.service.onRequest = () => stop.abort();
    expect(await bench.poll({ signal: stop.signal })).toEqual({ kind: 'stopped' });
    expect(await readPollState(bench.database, ACCOUNT)).toMatchObject({ failures: 0 });
  });

  it('is not polled without a credential, and the service is not called', async () => {
    await bench.database.query('update connector.accounts set sealed_credential = null');
    expect(await bench.poll()).toEqual({ kind: 'idle' });
    expect(bench.service.requests).toEqual([]);
  });
});
