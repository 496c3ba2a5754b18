import { describe, expect, test } from 'vitest';
import { planDiscovery } from '../../../../src/platform/connections/health/outage-timers.ts';
import { proves } from '../../../support/proves.ts';

const MINUTE = 60_000;
const AT = 1_768_478_400_000;
const DRAWS = [0, 0.25, 0.5, 0.999_999];

const dueAfter = (cause: 'session_lost' | 'zombie', heals: boolean, draw: number): [string, number] => {
  const { kind, dueAt } = planDiscovery({
    cause,
    heals,
    draw,
    at: AT,
    connectionId: 'cone',
    outageId: 'ctwo',
  });
  return [kind, dueAt - AT];
};

describe('the discovery of an outage', () => {
  test('happens within 5 minutes', () => {
    proves('state.outage.detected');
    for (const draw of DRAWS) {
      const [kind, after] = dueAfter('session_lost', false, draw);
      expect(kind).toBe('outage.found');
      expect(after).toBeGreaterThan(0);
      expect(after).toBeLessThanOrEqual(5 * MINUTE);
    }
  });

  test('happens after 15 to 20 minutes if a heal is tried and fails', () => {
    proves('state.outage.heal-first');
    const found = DRAWS.map((draw) => dueAfter('zombie', false, draw));
    expect(found.map(([kind]) => kind)).toEqual(DRAWS.map(() => 'outage.found'));
    expect(found.map(([, after]) => Math.round(after / 1_000))).toEqual([900, 975, 1_050, 1_200]);
  });

  test('never happens if the heal succeeds, which ends before it would have been given up', () => {
    for (const draw of DRAWS) {
      const [kind, after] = dueAfter('session_lost', true, draw);
      expect(kind).toBe('outage.healed');
      expect(after).toBeLessThan(15 * MINUTE);
    }
  });
});
