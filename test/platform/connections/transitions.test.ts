import { describe, expect, test } from 'vitest';
import {
  type Standing,
  TRIGGERS,
  type Trigger,
  takeStep,
} from '../../../src/platform/connections/transitions.ts';
import { SESSION_STATES } from '../../../src/platform/db/core-tables.ts';

type From = Standing['state'] | 'none';

/** What the specification's table says, written out: `from trigger → next needsReconnect told`. */
const RIGHT: Readonly<Record<string, string>> = {
  'none created': 'connecting false nothing',
  'connecting paired': 'live false connected',
  'connecting restarted_needs_qr': 'connecting kept nothing',
  'connecting logged_out': 'disconnected kept nothing',
  'live outage_found': 'disconnected true disconnected',
  'live restarted': 'live false nothing',
  'live logged_out': 'disconnected true nothing',
  'disconnected paired': 'live false connected',
  'disconnected recovered': 'live false connected',
  'disconnected restarted': 'live false connected',
  'disconnected restarted_needs_qr': 'connecting kept nothing',
  'disconnected logged_out': 'disconnected kept nothing',
};

const BOTH = [false, true];
const FROM: readonly From[] = ['none', ...SESSION_STATES];
const PAIRS = FROM.flatMap((from) => TRIGGERS.map((trigger): [From, Trigger] => [from, trigger]));

function standings(from: From): (Standing | null)[] {
  if (from === 'none') return [null];
  return BOTH.flatMap((needsReconnect) =>
    BOTH.map((reportedBroken) => ({ state: from, needsReconnect, reportedBroken })),
  );
}

describe('connection transitions', () => {
  test.each(PAIRS)('%s, %s: as the table of the specification says', (from, trigger) => {
    const right = RIGHT[`${from} ${trigger}`];
    for (const standing of standings(from)) {
      for (const mayTell of BOTH) {
        if (right === undefined) {
          expect(() => takeStep(standing, trigger, mayTell)).toThrow(trigger);
          continue;
        }
        const [next, needs, told] = right.split(' ');
        const step = takeStep(standing, trigger, mayTell);
        const reported = standing?.reportedBroken ?? false;
        expect(step.standing.state).toBe(next);
        expect(String(step.standing.needsReconnect)).toBe(
          needs === 'kept' ? String(standing?.needsReconnect ?? false) : needs,
        );
        const isTold = mayTell && (told === 'disconnected' || (told === 'connected' && reported));
        expect(step.sends).toBe(isTold ? `connection.${told}` : null);
      }
    }
  });

  test('a recovery is reported once, and only after a reported break', () => {
    const live: Standing = { state: 'live', needsReconnect: false, reportedBroken: false };
    const broken = takeStep(live, 'outage_found', true);
    expect(broken).toEqual({
      standing: { state: 'disconnected', needsReconnect: true, reportedBroken: true },
      sends: 'connection.disconnected',
    });
    const back = takeStep(broken.standing, 'recovered', true);
    expect(back).toEqual({ standing: live, sends: 'connection.connected' });
    const silent = takeStep(live, 'outage_found', false);
    expect(silent.sends).toBeNull();
    expect(takeStep(silent.standing, 'recovered', true).sends).toBeNull();
  });

  test('a break reported before the license lapsed is followed by a recovery reported after the renewal', () => {
    const broken: Standing = { state: 'disconnected', needsReconnect: true, reportedBroken: true };
    const unheard = takeStep(broken, 'recovered', false);
    expect([unheard.sends, unheard.standing.reportedBroken]).toEqual([null, true]);
    const again = takeStep(unheard.standing, 'outage_found', false);
    expect(takeStep(again.standing, 'recovered', true).sends).toBe('connection.connected');
  });

  test('a restart and a logout in between do not change that the break was reported', () => {
    const broken: Standing = { state: 'disconnected', needsReconnect: true, reportedBroken: true };
    const restarted = takeStep(broken, 'restarted_needs_qr', true);
    expect(restarted).toEqual({ standing: { ...broken, state: 'connecting' }, sends: null });
    expect(takeStep(restarted.standing, 'paired', true).sends).toBe('connection.connected');
    const loggedOut = takeStep(broken, 'logged_out', true);
    expect(takeStep(loggedOut.standing, 'paired', true).sends).toBe('connection.connected');
  });
});
