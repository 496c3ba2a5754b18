import { describe, expect, it } from 'vitest';
import { type PutFaultsRequest, putFaultsRequest } from '../../../src/contract/sandbox/faults.ts';
import type { MatchedEvent } from '../../../src/sandbox/faults/fault.ts';
import { createFaultBoard } from '../../../src/sandbox/faults/fault-board.ts';
import { draw } from '../../../src/sandbox/faults/fault-rule.ts';

function event(id: number, fields: Partial<MatchedEvent> = {}): MatchedEvent {
  return {
    eventId: id,
    workspaceId: 'cworkspace',
    connectionId: 'cone',
    messageId: `cmessage${id}`,
    event: 'message.received',
    ...fields,
  };
}

const board = (request: PutFaultsRequest) => {
  const made = createFaultBoard();
  made.put(putFaultsRequest.parse(request));
  return made;
};
const drop = { id: 'lose', match: { surface: 'webhook' }, action: { type: 'drop' } } as const;
const numbers = (count: number) => Array.from({ length: count }, (_, index) => index + 1);

describe('the draw of a fault', () => {
  it('depends only on seed, rule, event and attempt', () => {
    const one = draw(1, 'a', 2, 3);
    expect(draw(1, 'a', 2, 3)).toBe(one);
    expect(
      new Set([one, draw(2, 'a', 2, 3), draw(1, 'b', 2, 3), draw(1, 'a', 3, 3), draw(1, 'a', 2, 2)]).size,
    ).toBe(5);
  });

  it('is the same in every version of the project', () => {
    // sha256 of [1,"a",2,3], first 48 bits over 2^48.
    expect(draw(1, 'a', 2, 3)).toBeCloseTo(0.20791165012014545, 12);
  });

  it('is evenly distributed', () => {
    const draws = numbers(10_000).map((id) => draw(42, 'rule', id, 1));
    expect(Math.min(...draws)).toBeGreaterThanOrEqual(0);
    expect(Math.max(...draws)).toBeLessThan(1);
    for (const share of [0.1, 0.5, 0.9]) {
      expect(draws.filter((value) => value < share).length / 10_000).toBeCloseTo(share, 1);
    }
  });
});

describe('a webhook rule', () => {
  it('hits everything that it matches by default', () => {
    const faults = board({ rules: [drop] });
    expect(numbers(3).map((attempt) => faults.webhook.decide(event(1), attempt))).toEqual([
      [{ type: 'drop', name: 'lose' }],
      [{ type: 'drop', name: 'lose' }],
      [{ type: 'drop', name: 'lose' }],
    ]);
    expect(faults.read()).toEqual({ seed: 1, rules: [{ ...drop, hits: 3 }] });
  });

  it('matches by event and connection', () => {
    const match = { surface: 'webhook', event: 'message.status', connectionId: 'ctwo' } as const;
    const faults = board({ rules: [{ ...drop, match }] });
    expect(faults.webhook.decide(event(1), 1)).toEqual([]);
    expect(faults.webhook.decide(event(2, { event: 'message.status' }), 1)).toEqual([]);
    expect(faults.webhook.decide(event(3, { connectionId: 'ctwo' }), 1)).toEqual([]);
    expect(
      faults.webhook.decide(event(4, { event: 'message.status', connectionId: 'ctwo' }), 1),
    ).toHaveLength(1);
  });

  it('hits only the first events, if it has a limit', () => {
    const faults = board({ rules: [{ ...drop, first: 2 }] });
    expect(numbers(4).map((id) => faults.webhook.decide(event(id), 1).length)).toEqual([1, 1, 0, 0]);
    expect(faults.read().rules[0]?.hits).toBe(2);
  });

  it('counts attempts, or events with all of their attempts', () => {
    const perAttempt = board({ rules: [{ ...drop, first: 2 }] });
    expect(numbers(3).map((attempt) => perAttempt.webhook.decide(event(1), attempt).length)).toEqual([
      1, 1, 0,
    ]);
    const perEvent = board({ rules: [{ ...drop, first: 2, per: 'event' }] });
    const hits = [1, 2, 3].map((id) =>
      numbers(3).map((attempt) => perEvent.webhook.decide(event(id), attempt).length),
    );
    expect(hits).toEqual([
      [1, 1, 1],
      [1, 1, 1],
      [0, 0, 0],
    ]);
    perEvent.add({ ...drop, id: 'other', match: { surface: 'webhook', connectionId: 'cother' } });
    expect(perEvent.webhook.decide(event(2), 2)).toHaveLength(1);
    expect(perEvent.read().rules[0]?.hits).toBe(2);
  });

  it('loses the remaining attempts of a lost event even after it is removed', () => {
    const faults = board({ rules: [{ ...drop, per: 'event' }] });
    expect(faults.webhook.decide(event(1), 1)).toHaveLength(1);
    faults.clear();
    expect(faults.webhook.decide(event(1), 2)).toHaveLength(1);
    // The first attempt of a copy.
    expect(faults.webhook.decide(event(1), 1)).toEqual([]);
    expect(faults.webhook.decide(event(2), 1)).toEqual([]);
    expect(faults.webhook.decide(event(2), 2)).toEqual([]);
    faults.put({ rules: [] });
    expect(faults.webhook.decide(event(1), 3)).toHaveLength(1);
    // Only the latest 100 rules that were removed are kept.
    for (const id of numbers(101)) {
      faults.put({ rules: [{ ...drop, per: 'event' }] });
      faults.webhook.decide(event(id + 10), 1);
    }
    faults.clear();
    const lost = [1, 11, 12, 111].map((id) => faults.webhook.decide(event(id), 2).length);
    expect(lost).toEqual([0, 0, 1, 1]);
  });

  it('forgets earlier lost events in a reset, because their ids are used again', () => {
    const faults = board({ seed: 5, rules: [{ ...drop, per: 'event' }] });
    expect(faults.webhook.decide(event(1), 1)).toHaveLength(1);
    faults.clear();
    expect(faults.webhook.decide(event(1), 2)).toHaveLength(1);
    faults.reset();
    expect(faults.webhook.decide(event(1), 2)).toEqual([]);
    expect(faults.read()).toEqual({ seed: 1, rules: [] });
  });

  it('draws the same for the same seed, in any order', () => {
    const request = { seed: 9, rules: [{ ...drop, probability: 0.3 }] };
    const ask = (ids: number[]) => {
      const faults = board(request);
      const answers = new Map(ids.map((id) => [id, faults.webhook.decide(event(id), 1).length]));
      return numbers(200).map((id) => answers.get(id));
    };
    const forwards = ask(numbers(200));
    expect(ask(numbers(200).reverse())).toEqual(forwards);
    expect(forwards.filter((hit) => hit === 1).length).toBeGreaterThan(30);
    expect(forwards.filter((hit) => hit === 1).length).toBeLessThan(90);
    const other = board({ ...request, seed: 10 });
    expect(numbers(200).map((id) => other.webhook.decide(event(id), 1).length)).not.toEqual(forwards);
  });

  it('draws again for each attempt, or once for an event', () => {
    const perAttempt = board({ rules: [{ ...drop, probability: 0.5 }] });
    const perEvent = board({ rules: [{ ...drop, probability: 0.5, per: 'event' }] });
    const mixed = (faults: ReturnType<typeof board>) =>
      numbers(100).filter((id) => {
        const hits = numbers(3).map((attempt) => faults.webhook.decide(event(id), attempt).length);
        return new Set(hits).size > 1;
      }).length;
    expect(mixed(perAttempt)).toBeGreaterThan(50);
    expect(mixed(perEvent)).toBe(0);
  });

  it('never hits with probability 0 and always hits with 1', () => {
    expect(
      numbers(100).flatMap((id) =>
        board({ rules: [{ ...drop, probability: 0 }] }).webhook.decide(event(id), 1),
      ),
    ).toEqual([]);
    const always = board({ rules: [{ ...drop, probability: 1 }] });
    expect(numbers(100).flatMap((id) => always.webhook.decide(event(id), 1))).toHaveLength(100);
  });

  it('becomes the fault of its action, with the name of its rule', () => {
    const action = { type: 'stale_timestamp', byMs: 301_000 } as const;
    const rules = [{ id: 'r0', match: { surface: 'webhook' } as const, action }];
    expect(board({ rules }).webhook.decide(event(1), 1)).toEqual([
      { type: 'stale_timestamp', byMs: 301_000, name: 'r0' },
    ]);
  });
});

describe('an API rule', () => {
  const rule = (match: object, action: object, more: object = {}) =>
    putFaultsRequest.parse({ rules: [{ id: 'a', match: { surface: 'api', ...match }, action, ...more }] });
  const get = { method: 'GET', path: '/messages' };

  it('matches by method and path, which may end with an asterisk', async () => {
    const hits = async (match: object, call: { method: string; path: string }) =>
      (await board(rule(match, { type: 'reset' })).api.decide(call)).length;
    expect(await hits({}, get)).toBe(1);
    expect(await hits({ method: 'GET' }, get)).toBe(1);
    expect(await hits({ method: 'POST' }, get)).toBe(0);
    expect(await hits({ path: '/messages' }, get)).toBe(1);
    expect(await hits({ path: '/messages' }, { method: 'GET', path: '/messages/read' })).toBe(0);
    expect(await hits({ path: '/connections/*' }, { method: 'GET', path: '/connections/c1' })).toBe(1);
    expect(await hits({ path: '/connections/*' }, { method: 'GET', path: '/connections' })).toBe(0);
    expect(await hits({ path: '/*' }, get)).toBe(1);
  });

  it('becomes the fault of its action, with the name of its rule', async () => {
    const fault = (action: object) => board(rule({}, action)).api.decide(get);
    expect(await fault({ type: 'status', code: 429, error: 'rate_limited', retryAfter: 3 })).toEqual([
      { type: 'status', name: 'a', code: 429, error: 'rate_limited', retryAfter: 3 },
    ]);
    expect(await fault({ type: 'status', code: 500 })).toEqual([{ type: 'status', name: 'a', code: 500 }]);
    expect(await fault({ type: 'delay', ms: 5 })).toEqual([{ type: 'delay', name: 'a', ms: 5 }]);
    for (const type of ['reset', 'not_persisted', 'lost_answer']) {
      expect(await fault({ type })).toEqual([{ type, name: 'a' }]);
    }
  });

  it('hits only the first calls that match, if it has a limit', async () => {
    const faults = board(rule({ path: '/messages' }, { type: 'reset' }, { first: 2 }));
    const calls = [get, { method: 'GET', path: '/account' }, get, get, get];
    const hits = await Promise.all(calls.map((call) => faults.api.decide(call)));
    expect(hits.map(({ length }) => length)).toEqual([1, 0, 1, 0, 0]);
  });

  it('for one workspace hits no call of another, and looks up the workspace only if a rule needs it', async () => {
    const faults = board(rule({ workspaceId: 'cours' }, { type: 'reset' }));
    const of = async (workspaceId: string | null) =>
      (await faults.api.decide({ ...get, workspaceId: async () => workspaceId })).length;
    expect([await of('cours'), await of('ctheirs'), await of(null)]).toEqual([1, 0, 0]);
    const lookUp = (): never => {
      throw new Error('nobody asked');
    };
    expect(await board(rule({}, { type: 'reset' })).api.decide({ ...get, workspaceId: lookUp })).toHaveLength(
      1,
    );
  });

  it('draws in the order of the calls that match it', async () => {
    const request = rule({}, { type: 'reset' }, { probability: 0.5 });
    const draws = async () => {
      const faults = board(request);
      const hits = await Promise.all(numbers(50).map(() => faults.api.decide(get)));
      return hits.map(({ length }) => length);
    };
    const drawn = await draws();
    expect(await draws()).toEqual(drawn);
    expect(new Set(drawn).size).toBe(2);
    const saved = board(request);
    const ask = async (faults: ReturnType<typeof board>) =>
      (await Promise.all(numbers(25).map(() => faults.api.decide(get)))).map(({ length }) => length);
    const first = await ask(saved);
    const loaded = createFaultBoard();
    loaded.load(JSON.parse(JSON.stringify(saved.save())));
    expect([...first, ...(await ask(loaded))]).toEqual(drawn);
  });

  it('does not apply to webhooks, and a webhook rule does not apply to calls', async () => {
    expect(board(rule({}, { type: 'delay', ms: 5 })).webhook.decide(event(1), 1)).toEqual([]);
    expect(await board({ rules: [drop] }).api.decide(get)).toEqual([]);
  });
});

describe('the board', () => {
  it('clears the counts when rules are set, and keeps the seed by default', () => {
    const faults = board({ seed: 5, rules: [drop] });
    faults.webhook.decide(event(1), 1);
    expect(faults.put({ rules: [drop] })).toEqual({ seed: 5, rules: [{ ...drop, hits: 0 }] });
    expect(faults.clear()).toEqual({ seed: 1, rules: [] });
  });

  it('returns to the seed and the rules that were saved', () => {
    const faults = board({ seed: 5, rules: [drop] });
    faults.webhook.decide(event(1), 1);
    const saved = faults.save();
    faults.put({ seed: 6, rules: [] });
    faults.load(saved);
    expect(faults.read()).toEqual({ seed: 5, rules: [{ ...drop, hits: 1 }] });
  });
});
