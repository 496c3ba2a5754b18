import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ServiceInputs } from '../../src/conformance/service/inputs.ts';
import {
  runServiceSuite,
  type ServiceSuiteOptions,
} from '../../src/conformance/service/run-service-suite.ts';
import { SERVICE_CHECKS } from '../../src/conformance/service/suite.ts';
import { systemClock } from '../../src/runtime/clock/system-clock.ts';
import { callJson } from '../support/loop-client.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { BROKEN_DELIVERIES, startCourier } from './broken-courier.ts';
import { BROKEN_GRANTS, BROKEN_OAUTH } from './broken-oauth.ts';
import { type Breakage, startBrokenProxy } from './broken-proxy.ts';
import { BROKEN_RULES } from './broken-rules.ts';
import { type GradedWorkspace, makeDeliveredWorkspace, makeGradedWorkspace } from './graded-service.ts';

const SLOW_MS = 180_000;
/** No check of a local service takes this long, and a busy machine must not make one fail. */
const TIMEOUT_MS = 60_000;
const FAILED = ['fail', 'differs'];

let service: TestService;
let graded: GradedWorkspace;

beforeAll(async () => {
  service = await startTestService();
  graded = await makeGradedWorkspace(service);
});

afterAll(async () => {
  await graded.close();
  await service.close();
});

function grade(
  { inputs, listener }: Pick<GradedWorkspace, 'inputs' | 'listener'>,
  options: Partial<ServiceSuiteOptions> = {},
) {
  const { signal } = new AbortController();
  const fixed = { clock: systemClock, timeoutMs: TIMEOUT_MS, paceMs: 0, signal };
  return runServiceSuite({ inputs, listener, ...fixed, ...options });
}

/** Grades the service through a proxy, in the same workspace, optionally with other inputs. */
async function gradeThrough(
  breakage: Breakage,
  options: Partial<ServiceSuiteOptions> = {},
  inputs: Partial<ServiceInputs> = {},
) {
  const proxy = await startBrokenProxy(service.info.baseUrl, breakage);
  const changed = { ...graded.inputs, baseUrl: proxy.baseUrl, ...inputs };
  try {
    return { report: await grade({ ...graded, inputs: changed }, options), passed: proxy.passed };
  } finally {
    await proxy.close();
  }
}

/** A short wait for what never comes. */
const SHORT_MS = 3_000;
const NEVER_COME = ['delivery.arrives', 'delivery.three-attempts', 'delivery.redirect'];

/** The checks to run for a rule. Those that review the run need a run to review. */
function selectionFor(found: string): readonly string[] {
  return found.startsWith('wire.') ? ['wire.'] : [found];
}

/* They wait more than they work, each in a workspace of its own. */
describe.concurrent('the suite', () => {
  it(
    'finds no violation in the service of this repository',
    async () => {
      // Slow checks have a test of their own, which runs concurrently.
      const report = await grade({ ...graded, inputs: { ...graded.inputs, patient: false } });
      const failed = report.results.filter(({ result }) => FAILED.includes(result));
      expect(failed).toEqual([]);
      expect(report.leftBehind).toEqual([]);
      expect(report.verdict).toBe('conforms');
      const skipped = report.results.filter(({ result }) => result === 'skip').map(({ id }) => id);
      expect(skipped).toEqual([
        'scope.read.needed',
        'oauth.refresh.life',
        'delivery.timeout',
        'event.connection.disconnected',
        'event.connection.connected',
      ]);
    },
    SLOW_MS,
  );

  it(
    'finds no violation in how the service of this repository waits for an answer',
    async () => {
      const own = await makeDeliveredWorkspace(service);
      const report = await grade(own, { only: ['delivery.timeout', 'delivery.success'] });
      await own.close();
      expect(report.results).toMatchObject([
        { id: 'delivery.timeout', result: 'pass' },
        { id: 'delivery.success', result: 'pass' },
      ]);
    },
    SLOW_MS,
  );

  it(
    'finds every delivery that breaks a rule',
    async () => {
      const grades = BROKEN_DELIVERIES.map(async ({ what, found, courier }) => {
        const started: Awaited<ReturnType<typeof startCourier>>[] = [];
        const own = await makeDeliveredWorkspace(service, async (target) => {
          started.push(await startCourier(target, courier));
          return started[0]?.url ?? target;
        });
        const report = await grade(own, {
          only: [found],
          ...(NEVER_COME.includes(found) ? { arrivesMs: SHORT_MS } : {}),
        });
        await own.close();
        await started[0]?.close();
        return [`${what} → ${found}`, report.results[0]?.result];
      });
      const results = await Promise.all(grades);
      expect(results.filter(([, result]) => !FAILED.includes(String(result)))).toEqual([]);
    },
    SLOW_MS,
  );
});

describe('the service of this repository', () => {
  it(
    'is not changed by the read-only profile',
    async () => {
      const { report, passed } = await gradeThrough({}, {}, { profile: 'read-only' });
      expect(report.counts).toMatchObject({ fail: 0, differs: 0 });
      const changed = passed.filter(({ request, status }) => request.method !== 'GET' && status < 400);
      expect(changed).toEqual([]);
      expect(report.counts.pass).toBeGreaterThan(80);
    },
    SLOW_MS,
  );

  it(
    'reports an outage and its end as specified',
    async () => {
      const own = await makeDeliveredWorkspace(service);
      const { connectionId, listener, inputs } = own;
      await callJson(`${inputs.baseUrl}/webhook`, {
        method: 'PUT',
        token: inputs.apiKey,
        body: { url: inputs.webhookUrl },
      });
      const sandbox = (path: string, body: unknown) =>
        callJson(`${service.info.sandboxUrl}/sandbox/v1${path}`, { method: 'POST', body });
      await sandbox(`/connections/${connectionId}/outage`, { cause: 'session_lost' });
      await sandbox('/clock/advance', { ms: 1_200_000 });
      await sandbox(`/connections/${connectionId}/recover`, {});
      await sandbox('/clock/advance', { ms: 600_000 });
      await service.service.settle();
      expect(listener.requests.map(({ json }) => (json as { event: string }).event)).toEqual([
        'connection.disconnected',
        'connection.connected',
      ]);
      const only = [
        'event.connection',
        'event.names',
        'event.no-further',
        'delivery.headers',
        'delivery.method',
      ];
      const report = await grade(own, { only });
      await own.close();
      expect(report.counts).toEqual({ pass: 6, fail: 0, differs: 0, skip: 0, harness: 0 });
    },
    SLOW_MS,
  );
});

describe('a broken service', () => {
  it.each(BROKEN_RULES.map(({ what, found, breakage }) => [what, found, breakage] as const))(
    'is detected: %s → %s',
    async (_, found, breakage) => {
      const { report } = await gradeThrough(breakage(graded.inputs), { only: selectionFor(found) });
      expect(report.results.find(({ id }) => id === found)).toMatchObject({
        result: expect.stringMatching(/^(fail|differs)$/),
        expected: expect.not.stringContaining('that the check can read'),
        actual: expect.not.stringMatching(/no response|none by then/),
      });
    },
    SLOW_MS,
  );

  it.each(BROKEN_OAUTH.map(({ what, found, breakage }) => [what, found, breakage] as const))(
    'is detected by its OAuth: %s → %s',
    async (_, found, breakage) => {
      const proxy = await startBrokenProxy(service.info.authUrl, breakage());
      const inputs = { ...graded.inputs, authUrl: proxy.baseUrl };
      const report = await grade({ ...graded, inputs }, { only: [found] });
      await proxy.close();
      expect(report.results.find(({ id }) => id === found)).toMatchObject({
        result: expect.stringMatching(/^(fail|differs)$/),
        expected: expect.not.stringContaining('that the check can read'),
      });
    },
    SLOW_MS,
  );

  it.each(BROKEN_GRANTS.map(({ what, found, breakage }) => [what, found, breakage] as const))(
    'is detected by its grants: %s → %s',
    async (_, found, breakage) => {
      const { report } = await gradeThrough(breakage(), { only: [found] });
      expect(report.results).toMatchObject([{ id: found, result: 'fail' }]);
    },
    SLOW_MS,
  );

  it(
    'is detected if a rotation changes nothing',
    async () => {
      const secret = 'a-secret-that-nobody-signs-with';
      const breakage: Breakage = {
        ask: ({ path }) =>
          path === '/webhook/rotate'
            ? { status: 200, headers: { 'content-type': 'application/json' }, body: { secret } }
            : undefined,
      };
      const { report } = await gradeThrough(breakage, { only: ['delivery.rotated'] });
      expect(report.results[0]).toMatchObject({ result: 'fail', actual: 'the old one' });
    },
    SLOW_MS,
  );

  it(
    'is detected if two workspaces are the same',
    async () => {
      const inputs = { ...graded.inputs, secondApiKey: graded.inputs.apiKey };
      const report = await grade({ ...graded, inputs }, { only: ['isolation.', 'create.key.per-workspace'] });
      const kept = report.results.filter(({ result }) => !FAILED.includes(result)).map(({ id }) => id);
      expect(kept).toEqual([]);
    },
    SLOW_MS,
  );

  it(
    'is detected if the legacy address answers differently',
    async () => {
      const legacy = await startBrokenProxy(service.info.legacyBaseUrl, {
        answer: ({ body }) => {
          if (Array.isArray(body.messages)) body.messages[0].text = 'Other words';
          else body.legacy = true;
        },
      });
      const inputs = { ...graded.inputs, legacyBaseUrl: legacy.baseUrl };
      const report = await grade({ ...graded, inputs }, { only: ['legacy.'] });
      await legacy.close();
      expect(report.results.map(({ id, result }) => `${id} ${result}`)).toEqual([
        'legacy.reads fail',
        'legacy.messages fail',
        'legacy.refusals fail',
      ]);
    },
    SLOW_MS,
  );

  it('is detected by checks that exist', () => {
    const ids = SERVICE_CHECKS.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    const named = [...BROKEN_RULES, ...BROKEN_DELIVERIES, ...BROKEN_OAUTH, ...BROKEN_GRANTS].map(
      ({ found }) => found,
    );
    expect(named.filter((id) => !ids.includes(id))).toEqual([]);
    const ofOauth = ids.filter((id) => /^(?:oauth|tools)\./.test(id));
    expect(ofOauth.filter((id) => !named.includes(id))).toEqual([]);
  });
});
