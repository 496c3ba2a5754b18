import { describe, expect, it } from 'vitest';
import { createSingleFlightRefresh, type Versioned } from '../../src/patterns/single-flight-refresh.ts';

/** An authorization server that accepts each refresh token once, and the store of one client. */
class Grant {
  stored: Versioned<string> = { version: 1, token: 'access-1' };
  renewals: number[] = [];
  /** The refresh is in progress until this is called. */
  answer: (error?: Error) => void = () => undefined;
  held = false;

  load = (): Promise<Versioned<string>> => Promise.resolve(this.stored);

  renew = async ({ version }: Versioned<string>): Promise<Versioned<string>> => {
    this.renewals.push(version);
    if (this.held) {
      await new Promise<void>((resolve, reject) => {
        this.answer = (error) => (error === undefined ? resolve() : reject(error));
      });
    }
    if (this.renewals.filter((each) => each === version).length > 1) throw new Error('refresh token reused');
    this.stored = { version: version + 1, token: `access-${version + 1}` };
    return this.stored;
  };
}

/** Answers 401 for every token except this one. */
const service = (good: string) => (token: string) => Promise.resolve(token === good ? 200 : 401);
const refused = (status: number): boolean => status === 401;

describe('a refresh', () => {
  it('is made once, however many calls are refused at the same time', async () => {
    const grant = new Grant();
    grant.held = true;
    const refresh = createSingleFlightRefresh(grant);
    const calls = Array.from({ length: 50 }, () => refresh.run(service('access-2'), refused));
    while (grant.renewals.length === 0) await Promise.resolve();
    calls.push(refresh.run(service('access-2'), refused));
    grant.answer();
    expect(new Set(await Promise.all(calls))).toEqual(new Set([200]));
    expect(grant.renewals).toEqual([1]);
  });

  it('is not made for a late call with an old token', async () => {
    const grant = new Grant();
    const refresh = createSingleFlightRefresh(grant);
    await refresh.newerThan(1);
    expect(await refresh.newerThan(1)).toEqual({ version: 2, token: 'access-2' });
    expect(grant.renewals).toEqual([1]);
  });

  it('is not made if another process has made it', async () => {
    const grant = new Grant();
    const refresh = createSingleFlightRefresh({
      ...grant,
      load: grant.load,
      renew: grant.renew,
      exclusively: (work) => {
        grant.stored = { version: 2, token: 'from elsewhere' };
        return work();
      },
    });
    expect(await refresh.newerThan(1)).toEqual({ version: 2, token: 'from elsewhere' });
    expect(grant.renewals).toEqual([]);
  });

  it('is made once by two processes behind one lock', async () => {
    const grant = new Grant();
    let turn: Promise<unknown> = Promise.resolve();
    const exclusively = <T>(work: () => Promise<T>): Promise<T> => {
      const mine = turn.then(work);
      turn = mine.catch(() => undefined);
      return mine;
    };
    const io = { load: grant.load, renew: grant.renew, exclusively };
    const [one, two] = [createSingleFlightRefresh(io), createSingleFlightRefresh(io)];
    const tokens = await Promise.all([one.newerThan(1), two.newerThan(1)]);
    expect(tokens.map(({ version }) => version)).toEqual([2, 2]);
    expect(grant.renewals).toEqual([1]);
  });

  it('fails for all waiting callers, and the next one starts again', async () => {
    const grant = new Grant();
    grant.held = true;
    const refresh = createSingleFlightRefresh(grant);
    const waiting = Promise.allSettled(Array.from({ length: 10 }, () => refresh.newerThan(1)));
    while (grant.renewals.length === 0) await Promise.resolve();
    grant.answer(new Error('invalid_grant'));
    const outcomes = await waiting;
    expect(outcomes.map((outcome) => outcome.status)).toEqual(Array(10).fill('rejected'));
    expect(grant.renewals).toEqual([1]);
    grant.held = false;
    grant.renewals = [];
    expect(await refresh.newerThan(1)).toMatchObject({ version: 2 });
  });

  it('that returns the version with which a caller was refused is followed by another', async () => {
    const grant = new Grant();
    grant.held = true;
    const refresh = createSingleFlightRefresh(grant);
    const first = refresh.newerThan(1);
    while (grant.renewals.length === 0) await Promise.resolve();
    const second = refresh.newerThan(2);
    grant.answer();
    await first;
    while (grant.renewals.length === 1) await Promise.resolve();
    grant.answer();
    expect(await second).toMatchObject({ version: 3 });
  });
});

describe('a call', () => {
  it('that is not refused causes no refresh', async () => {
    const grant = new Grant();
    expect(await createSingleFlightRefresh(grant).run(service('access-1'), refused)).toBe(200);
    expect(grant.renewals).toEqual([]);
  });

  it('that is also refused with the new token is not made a third time', async () => {
    const grant = new Grant();
    const used: string[] = [];
    const call = (token: string): Promise<number> => {
      used.push(token);
      return Promise.resolve(401);
    };
    expect(await createSingleFlightRefresh(grant).run(call, refused)).toBe(401);
    expect(used).toEqual(['access-1', 'access-2']);
    expect(grant.renewals).toEqual([1]);
  });
});
