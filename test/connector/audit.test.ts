import { beforeEach, describe, expect, it } from 'vitest';
import { type Audit, createAudit } from '../../src/connector/audit/audit.ts';
import { logTo } from '../support/log-to.ts';
import { ManualClock } from '../support/manual-clock.ts';

let clock: ManualClock;
let audit: Audit;
let lines: Record<string, unknown>[];

beforeEach(() => {
  clock = new ManualClock();
  lines = [];
  audit = createAudit({
    clock,
    logger: logTo('info', (line) => lines.push(JSON.parse(line) as Record<string, unknown>)),
  });
});

const told = () =>
  lines.map(({ event, result, leftOut }) =>
    leftOut === undefined ? `${event} ${result}` : `${event} +${leftOut}`,
  );

describe('the audit trail', () => {
  it('has one line at level info for each event: who, what, outcome', () => {
    audit.note('account.removed', { who: 'crm-backend', id: 'account-1', result: 'ok' });
    expect(lines).toEqual([
      {
        level: 'info',
        time: expect.any(String),
        name: 'test',
        event: 'account.removed',
        who: 'crm-backend',
        id: 'account-1',
        result: 'ok',
        msg: 'audit',
      },
    ]);
  });

  it('contains at most 60 lines of one event in a minute, and then the number of further ones', async () => {
    for (let index = 0; index < 1_000; index += 1) audit.note('token.refused', { result: 'unknown_token' });
    expect(lines).toHaveLength(60);
    await clock.advance(60_000);
    expect(told().slice(59)).toEqual(['token.refused unknown_token', 'token.refused +940']);
    audit.note('token.refused', { result: 'unknown_token' });
    expect(told().slice(61)).toEqual(['token.refused unknown_token']);
  });

  it('contains other events during a flood of one event', () => {
    for (let index = 0; index < 1_000; index += 1) audit.note('webhook.signature_refused', { result: 'x' });
    audit.note('account.added', { who: 'crm', result: 'ok' });
    expect(told().at(-1)).toBe('account.added ok');
  });

  it('reports at the end how many lines were omitted, and leaves no timer behind', () => {
    for (let index = 0; index < 61; index += 1) audit.note('token.refused', { result: 'no_token' });
    audit.close();
    expect(told().slice(60)).toEqual(['token.refused +1']);
    expect(clock.pending).toBe(0);
  });
});
