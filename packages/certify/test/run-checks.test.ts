import { createServer } from 'node:http';
import { describe, expect, it } from 'vitest';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { ofFile } from '../../../test/support/of-file.ts';
import { serve } from '../../../test/support/serve.ts';
import type { ReceiverContext } from '../src/receiver/context.ts';
import { demand } from '../src/receiver/effect.ts';
import { type Check, type Probe, Skip, Violation } from '../src/runner/check.ts';
import type { Exchange } from '../src/runner/exchange.ts';
import { createHttpClient, createPace } from '../src/runner/http-client.ts';
import { createJournal, type Journal } from '../src/runner/journal.ts';
import { createObserver } from '../src/runner/observer.ts';
import { createOnce } from '../src/runner/once.ts';
import { runChecks } from '../src/runner/run-checks.ts';
import { createSecretBook } from '../src/runner/secret-book.ts';

type Run = (journal: Journal, probe: Probe) => Promise<void>;

function check(run: Run, fields: Partial<Check<Journal>> = {}): Check<Journal> {
  return { id: 'a.check', section: 'Somewhere', rule: 'A rule.', level: 'must', run, ...fields };
}

/** Runs checks with a manual clock. */
function start(checks: readonly Check<Journal>[], interrupt = new AbortController()) {
  const clock = new ManualClock();
  const journal = createJournal();
  const secrets = createSecretBook();
  secrets.add('very-secret', 'API key');
  const { signal } = interrupt;
  const options = { checks, context: journal, journal, secrets, clock, timeoutMs: 1_000, signal };
  return { clock, journal, results: runChecks({ ...options, findLock: () => undefined }) };
}

const never = (): Promise<void> => new Promise(() => undefined);

describe('a check', () => {
  it('passes with its notes if nothing is thrown', async () => {
    const { results } = start([check(async (_, { note }) => [note('one'), note('one')].forEach(String))]);
    expect(await results).toMatchObject([{ result: 'pass', notes: ['one'] }]);
  });

  it('fails, differs or is skipped depending on what is thrown and on its level', async () => {
    const violate: Run = async () => {
      throw new Violation('this', 'that');
    };
    const skip: Run = async () => {
      throw new Skip('why', '--option');
    };
    const { results } = start([
      check(violate),
      check(violate, { level: 'should' }),
      check(violate, { level: 'reading' }),
      check(skip),
      check(async () => {
        throw new TypeError('a fault of its own');
      }),
    ]);
    expect(await results).toMatchObject([
      { result: 'fail', expected: 'this', actual: 'that' },
      { result: 'fail' },
      { result: 'differs' },
      { result: 'skip', reason: 'why', unlock: '--option' },
      { result: 'fail', actual: 'a fault of its own' },
    ]);
  });

  it('counts as a harness failure for any other exception, in a suite that configures it', async () => {
    const clock = new ManualClock();
    const journal = createJournal();
    const checks = [
      check(async () => {
        throw new TypeError('a fault of its own');
      }),
    ];
    const results = await runChecks({
      ...{ checks, context: journal, journal, secrets: createSecretBook(), clock, timeoutMs: 1_000 },
      signal: new AbortController().signal,
      findLock: () => undefined,
      unexpected: 'harness',
    });
    expect(results).toMatchObject([
      { result: 'harness', reason: expect.stringContaining('a fault of its own') },
    ]);
  });

  it('fails at its timeout, and the checks after it still run', async () => {
    const { clock, results } = start([check(never), check(async () => undefined)]);
    await clock.advance(1_000);
    expect(await results).toMatchObject([
      { result: 'fail', expected: 'a result within 1 s', actual: 'none by then' },
      { result: 'pass' },
    ]);
  });

  it('that uses an earlier exchange again has it as evidence once, in its place', async () => {
    const [first, second] = ['/first', '/second'].map((path) => ({
      ...{ as: 'nobody', method: 'GET', path, requestHeaders: {}, requestBody: undefined },
      ...{ status: 200, headers: new Headers(), text: '', json: undefined, ms: 1 },
    })) as [Exchange, Exchange];
    const { results } = start([
      check(async ({ recall, current }) => {
        recall(first);
        current().see(second);
        for (const again of [first, second]) recall(again);
      }),
    ]);
    const [{ evidence } = { evidence: [] }] = await results;
    expect(evidence.map(({ request }) => request)).toEqual(['GET /first (nobody)', 'GET /second (nobody)']);
  });

  it('that took too long leaves time to look for the cause, which is no evidence of it', async () => {
    const clock = new ManualClock();
    const journal = createJournal();
    const secrets = createSecretBook();
    const aborted: boolean[] = [];
    const results = runChecks({
      ...{ checks: [check(never)], context: journal, journal, secrets, clock, timeoutMs: 1_000 },
      signal: new AbortController().signal,
      findLock: () => undefined,
      async findCause() {
        aborted.push(journal.current().signal.aborted);
        return { hint: 'Its process has ended.', isLast: true };
      },
    });
    await clock.advance(1_000);
    expect(await results).toMatchObject([{ result: 'fail', hint: 'Its process has ended.' }]);
    expect(aborted).toEqual([false]);
  });

  it('stays violated if an interruption ends the search for the cause', async () => {
    const interrupt = new AbortController();
    const { signal } = interrupt;
    const journal = createJournal();
    const results = runChecks({
      ...{
        checks: [check(() => Promise.reject(new Violation('one', 'two')))],
        context: journal,
        journal,
        signal,
      },
      ...{
        secrets: createSecretBook(),
        clock: new ManualClock(),
        timeoutMs: 1_000,
        findLock: () => undefined,
      },
      findCause() {
        interrupt.abort();
        return Promise.reject(signal.reason);
      },
    });
    expect(await results).toMatchObject([{ result: 'fail', expected: 'one', actual: 'two' }]);
  });

  it('has its own timeout, which it can extend', async () => {
    const seen: string[] = [];
    const extended: Run = async (_, { extend, signal }) => {
      extend(5_000);
      signal.addEventListener('abort', () => seen.push('over'));
      await never();
    };
    const { clock, results } = start([check(extended, { timeoutMs: 3_000 })]);
    await clock.advance(7_999);
    expect(seen).toEqual([]);
    await clock.advance(1);
    expect(await results).toMatchObject([{ result: 'fail' }]);
    expect(seen).toEqual(['over']);
    expect(clock.pending).toBe(0);
  });

  it('of an effect has as long as a receiver may take for it, besides its own timeout', async () => {
    let looks = 0;
    const begun = Promise.withResolvers<void>();
    const demanding: Run = async (journal) => {
      await begun.promise;
      const context = { clock, journal, patienceMs: 5_000, inputs: {} } as unknown as ReceiverContext;
      await demand(context, () => (++looks < 45 ? new Violation('a row', 'none') : undefined));
    };
    const { clock, results } = start([check(demanding)]);
    begun.resolve();
    for (let look = 1; look < 45; look += 1) await clock.advance(100);
    expect(await results).toMatchObject([{ result: 'pass' }]);
  });

  it('is stopped by an interruption, has no result, and no other check starts', async () => {
    const interrupt = new AbortController();
    const stop: Run = async () => {
      interrupt.abort();
      throw new Error('Its request was aborted.');
    };
    const { results } = start([check(stop), check(async () => undefined)], interrupt);
    expect(await results).toEqual([]);
  });

  it('reveals no secret, wherever it occurs', async () => {
    const leak: Run = async (_, { note }) => {
      note('with very-secret');
      throw new Violation('no very-secret', 'a "very-secret"');
    };
    const { results } = start([check(leak)]);
    expect(JSON.stringify(await results)).not.toContain('very-secret');
  });
});

describe('a prerequisite shared by several checks', () => {
  it('is created once', async () => {
    const once = createOnce();
    let made = 0;
    const make = async (): Promise<number> => ++made;
    expect([await once('a thing', make), await once('a thing', make)]).toEqual([1, 1]);
  });

  it('fails the first check that needs it, and skips the others', async () => {
    const once = createOnce();
    const make = async (): Promise<void> => {
      throw new Violation('this', 'that');
    };
    await expect(once('a thing', make)).rejects.toThrow(Violation);
    await expect(once('a thing', make)).rejects.toThrow(new Skip('needs a thing: expected this, got that'));
  });
});

describe('secrets', () => {
  it('are redacted as plain text, in URLs and in JSON, longer ones first', () => {
    const { add, hide } = createSecretBook();
    add('se/cr"et', 'short');
    add('se/cr"et-and-more', 'long');
    expect(hide('se/cr"et-and-more se/cr"et se%2Fcr%22et {"a":"se/cr\\"et"}')).toBe(
      '<long> <short> <short> {"a":"<short>"}',
    );
  });
});

describe('the client', () => {
  const answers: { status: number; headers?: Record<string, string> }[] = [];
  const server = createServer((request, response) => {
    const { status, headers } = answers.shift() ?? { status: 200 };
    if (status === 0) request.socket.destroy();
    else response.writeHead(status, headers).end('{}');
  });
  const served = ofFile(() => serve(server));

  /** A client whose waits end at once and are recorded. */
  function makeClient() {
    const waits: number[] = [];
    const clock = Object.assign(new ManualClock(), {
      sleep: async (ms: number) => void waits.push(ms),
    });
    const journal = createJournal();
    const extended: number[] = [];
    journal.begin(new AbortController().signal, (ms) => void extended.push(ms));
    const pace = createPace(clock, 100);
    return {
      waits,
      extended,
      journal,
      client: createHttpClient({ baseUrl: served.url, as: 'nobody', clock, journal, pace }),
    };
  }

  it('waits as long as a rate limit demands, and extends the timeout of the check by as much', async () => {
    answers.push({ status: 429, headers: { 'retry-after': '7' } }, { status: 429 }, { status: 201 });
    const { client, waits, extended, journal } = makeClient();
    expect((await client.request('GET', '/')).status).toBe(201);
    expect(waits.filter((ms) => ms > 1_000)).toEqual([7_000, 5_000]);
    expect(extended).toEqual([7_000, 5_000]);
    expect(journal.exchanges.map(({ status }) => status)).toEqual([429, 429, 201]);
  });

  it('waits until the date that a rate limit names', async () => {
    const headers = { date: 'Thu, 01 Jan 2026 00:00:00 GMT', 'retry-after': 'Thu, 01 Jan 2026 00:01:30 GMT' };
    answers.push({ status: 429, headers }, { status: 201 });
    const { client, waits } = makeClient();
    expect((await client.request('GET', '/')).status).toBe(201);
    expect(waits.filter((ms) => ms > 1_000)).toEqual([90_000]);
  });

  it('gives up if a rate limit demands too long a wait, or a fourth one', async () => {
    answers.push({ status: 429, headers: { 'retry-after': '900' } });
    await expect(makeClient().client.request('GET', '/')).rejects.toThrow(Skip);
    for (let times = 1; times <= 4; times += 1) answers.push({ status: 429 });
    await expect(makeClient().client.request('GET', '/')).rejects.toThrow(Skip);
    expect(answers).toEqual([]);
  });

  it('returns a rate limit to a check that asks for it', async () => {
    answers.push({ status: 429, headers: { 'retry-after': '900' } });
    const { client, waits } = makeClient();
    expect((await client.request('GET', '/', { takeRateLimit: true })).status).toBe(429);
    expect(waits).toEqual([]);
  });

  it('spaces its requests', async () => {
    const { client, waits } = makeClient();
    for (let i = 0; i < 3; i++) await client.request('GET', '/');
    expect(waits).toEqual([100, 200]);
  });

  it('repeats a read whose connection was closed, but nothing that could act twice', async () => {
    answers.push({ status: 0 }, { status: 200 }, { status: 0 });
    const { client } = makeClient();
    expect((await client.request('GET', '/')).status).toBe(200);
    await expect(client.request('POST', '/')).rejects.toThrow(/^no response: .+/);
  });

  it('reports why there was no answer', async () => {
    const { journal } = makeClient();
    const pace = async (): Promise<void> => undefined;
    const nobody = { baseUrl: 'http://127.0.0.1:9', as: 'nobody', clock: new ManualClock(), journal, pace };
    await expect(createHttpClient(nobody).request('GET', '/')).rejects.toThrow(/^no response: .+/);
  });
});

it('an observer counts the copies of a message, and knows the status that any of them has', async () => {
  const copies = [{ id: 'm1', status: 'READ' }, { id: 'm1' }];
  const seen = await createObserver(async () => ({ messages: copies }))();
  expect(seen.get('m1')).toMatchObject({ count: 2, status: 'read' });
});
