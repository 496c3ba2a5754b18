import { beforeAll, describe, expect, it } from 'vitest';
import type { Clock } from '../../../src/runtime/clock/clock.ts';
import { systemClock } from '../../../src/runtime/clock/system-clock.ts';
import { obtainTokens, REDIRECT_URI } from '../../../test/sandbox/oauth-client.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { ofFile } from '../../../test/support/of-file.ts';
import { createCaller } from '../../../test/support/read-lists.ts';
import { startTestService } from '../../../test/support/service.ts';
import { createContext } from '../src/integration/context.ts';
import { INTEGRATION_CHECKS, runIntegrationSuite } from '../src/integration/run-integration-suite.ts';
import type { Report } from '../src/report/report.ts';
import { createObserver } from '../src/runner/observer.ts';
import { type Mistakes, startGalleryIntegration, WRONG_INTEGRATIONS } from './gallery/integrations.ts';
import { unfailed } from './gallery/wrong.ts';

const SLOW_MS = 120_000;
/** Waits of the service that are this long are caused by a fault. */
const OF_A_FAULT_MS = 100_000;
const SCOPES = ['messaging.read', 'messaging.send', 'messaging.events', 'messaging.manage'];

const service = ofFile(() => startTestService({ clock: servedBy }));
let time = new ManualClock();
let number = 0;

/** The clock of the service. Its long waits end when the test's clock is moved. */
const servedBy: Clock = {
  ...systemClock,
  after: (ms, run, options) =>
    ms < OF_A_FAULT_MS ? systemClock.after(ms, run, options) : time.after(ms, run),
  sleep: (ms, signal) => (ms < OF_A_FAULT_MS ? systemClock.sleep(ms, signal) : time.sleep(ms, signal)),
};

beforeAll(async () => {
  await service.sandbox('POST', '/clock/freeze');
});

interface Options {
  /** It has no webhook. */
  readonly onlyPolls?: true;
  /** How many further numbers it polls, each by itself. */
  readonly others?: number;
  /** Nobody observes what it stores. */
  readonly unobserved?: true;
  /** The license of its number has ended. */
  readonly unlicensed?: true;
  readonly only?: readonly string[];
}

/** Runs all checks on an integration with these mistakes, which has its own app and workspace. */
async function certify(mistakes: Mistakes, options: Options = {}): Promise<Report> {
  const { sandbox, info } = service;
  number += 1;
  time = new ManualClock(systemClock.now());
  type WithId<Name extends string> = Readonly<Record<Name, { readonly id: string }>>;
  const { workspace } = await sandbox<WithId<'workspace'>>('POST', '/workspaces', {
    kind: 'standalone',
    slots: 3,
  });
  const pair = async (digit: number) => {
    const phoneNumber = `491570${digit}${String(number).padStart(4, '0')}`;
    const path = `/workspaces/${workspace.id}/connections`;
    return await sandbox<WithId<'connection'>>('POST', path, { provider: 'qr', phoneNumber });
  };
  const { connection } = await pair(0);
  const others: string[] = [];
  for (let digit = 1; digit <= (options.others ?? 0); digit += 1)
    others.push((await pair(digit)).connection.id);
  const host = `integration-${number}.example.com`;
  const app = await sandbox<{ clientId: string; clientSecret: string; webhookSecret: string | null }>(
    'POST',
    '/oauth-apps',
    { name: 'CRM', redirectUris: [REDIRECT_URI], scopes: SCOPES, ownerWorkspaceId: workspace.id },
  );
  const tokens = await obtainTokens(info.authUrl, app);
  const integration = await startGalleryIntegration(
    { baseUrl: info.baseUrl, authUrl: info.authUrl, connectionId: connection.id, clock: time, app, tokens },
    { ...mistakes, ...(others.length === 0 ? {} : { others }) },
  );
  // Its first poll, which would see what the first check loses.
  await integration.idle();
  await sandbox('PUT', `/hosts/${host}`, { target: integration.webhookTarget });
  const { key } = await sandbox<{ key: string }>('POST', `/workspaces/${workspace.id}/api-keys`, {});
  if (options.onlyPolls !== true)
    await createCaller(info.baseUrl, key)('PUT', '/webhook', { url: `https://${host}/webhooks` });
  if (options.unlicensed === true)
    await sandbox('PUT', `/connections/${connection.id}/licence`, { status: 'expired' });
  /** Advances the clocks of the integration and of the service together. */
  const sleep = async (ms: number): Promise<void> => {
    const end = time.elapsed() + ms;
    while (time.elapsed() < end) {
      await integration.idle();
      const step = Math.min(time.untilNext, end - time.elapsed());
      await sandbox('POST', '/clock/advance', { ms: step });
      await time.advance(step);
      await integration.idle();
    }
  };
  const clock: Clock = {
    now: () => time.now(),
    elapsed: () => time.elapsed(),
    after: (ms, run) => time.after(ms, run),
    sleep,
  };
  try {
    return await runIntegrationSuite({
      inputs: {
        sandboxUrl: info.sandboxUrl,
        workspaceId: workspace.id,
        send: (send) => integration.send(send),
        pair: () => integration.pair(),
        ...(options.unobserved === true ? {} : { observer: createObserver(integration.observe) }),
        oauth: true,
        patient: true,
      },
      only: options.only,
      clock,
      signal: new AbortController().signal,
    });
  } finally {
    await integration.close();
  }
}

it('every call since a moment is seen, however many there are', async () => {
  const { info, client } = service;
  const inputs = { sandboxUrl: info.sandboxUrl, workspaceId: info.workspaceId };
  const context = await createContext(inputs, systemClock, new AbortController().signal);
  const ask = () => client('GET', '/connections');
  await ask();
  const { calls } = await context.mark();
  for (let asked = 0; asked < 120; asked += 1) await ask();
  expect(await calls('GET', '/connections')).toHaveLength(120);
});

it('a poll while the lost messages are still being counted is seen', async () => {
  const { info, client } = service;
  const inputs = { sandboxUrl: info.sandboxUrl, workspaceId: info.workspaceId };
  time = new ManualClock(systemClock.now());
  const clock: Clock = { ...systemClock, elapsed: () => time.elapsed(), sleep: (ms) => time.advance(ms) };
  const context = await createContext(inputs, clock, new AbortController().signal);
  const poll = async (): Promise<void> => {
    for (let query = '?limit=100', hasMore = true; hasMore; ) {
      const page = await client<{ nextCursor: string; hasMore: boolean }>('GET', `/messages${query}`);
      hasMore = page.hasMore;
      query = `?limit=100&cursor=${page.nextCursor}`;
    }
  };
  const [check] = INTEGRATION_CHECKS.filter(({ id }) => id === 'poll.pages');
  await check?.run(
    {
      ...context,
      async control(method, path, body) {
        if (method === 'DELETE') await poll();
        return await context.control(method, path, body);
      },
    },
    context.journal.current(),
  );
});

describe('a correct integration', () => {
  it(
    'passes every check',
    async () => {
      const { verdict, results } = await certify({});
      expect(results.filter(({ result }) => result !== 'pass')).toEqual([]);
      expect(results).toHaveLength(INTEGRATION_CHECKS.length);
      expect(verdict).toBe('conforms');
    },
    SLOW_MS,
  );

  it(
    'passes without an observer if it only polls, and is not asked what hides events',
    async () => {
      const { verdict, results } = await certify({}, { onlyPolls: true, unobserved: true });
      expect(results.filter(({ result }) => result !== 'pass').map(({ id, unlock }) => [id, unlock])).toEqual(
        [['poll.past-event', 'a webhook']],
      );
      expect(verdict).toBe('conforms');
    },
    SLOW_MS,
  );

  it(
    'may read the details of its other numbers while one waits to be paired',
    async () => {
      const { results } = await certify({ detailMs: 7_000 }, { only: ['pair.'] });
      expect(results.map(({ id, result }) => `${id} ${result}`)).toEqual(['pair.polls pass']);
    },
    SLOW_MS,
  );

  it(
    'may poll each of its numbers by itself, each every 30 to 60 s',
    async () => {
      const only = ['poll.often', 'poll.sparing'];
      const { results } = await certify({}, { others: 2, only });
      expect(results.map(({ id, result }) => `${id} ${result}`)).toEqual([
        'poll.often pass',
        'poll.sparing pass',
      ]);
      const rare = await certify({ pollMs: 96_000 }, { others: 2, only });
      expect(rare.results.map(({ id, result }) => `${id} ${result}`)).toEqual([
        'poll.often fail',
        'poll.sparing pass',
      ]);
    },
    SLOW_MS,
  );

  it(
    'is not judged while its license has ended, which is said',
    async () => {
      const { verdict, results } = await certify({}, { unlicensed: true });
      expect(results.filter(({ result }) => result === 'fail' || result === 'harness')).toEqual([]);
      expect(results.find(({ id }) => id === 'poll.pages')?.reason).toMatch(
        /license of connection \w+ is expired/,
      );
      expect(results.find(({ id }) => id === 'send.key')?.reason).toMatch(
        /license of connection \w+ is expired/,
      );
      expect(verdict).toBe('unknown');
    },
    SLOW_MS,
  );
});

describe('the gallery of faulty integrations', () => {
  it.each(Object.entries(WRONG_INTEGRATIONS))(
    '%s It fails exactly its checks, and is told why',
    async (_, { ways, fails, told }) => {
      const areas = new Set(fails.map((id) => id.replace(/\..*/, '.')));
      const { results } = await certify(ways, { only: [...areas] });
      // A check is skipped if an earlier finding has the same cause.
      const failed = results.filter(({ result }) => result === 'fail' || result === 'harness');
      expect(failed.map(({ id, result }) => `${id} ${result}`).sort()).toEqual(
        fails.map((id) => `${id} fail`).sort(),
      );
      for (const { id, hint } of failed) expect(hint, id).toMatch(told);
    },
    SLOW_MS,
  );

  it(
    'includes one that reads the first page only, and is not observed, however often it polls',
    async () => {
      const { results } = await certify(
        { pages: 1, pollMs: 5_000 },
        { unobserved: true, only: ['poll.pages'] },
      );
      expect(results.map(({ id, result }) => `${id} ${result}`)).toEqual(['poll.pages fail']);
    },
    SLOW_MS,
  );

  it('covers every check', () => {
    expect(unfailed(INTEGRATION_CHECKS, WRONG_INTEGRATIONS)).toEqual([]);
  });
});
