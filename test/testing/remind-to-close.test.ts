import { describe, expect, it } from 'vitest';
import { REMINDER, remindToClose } from '../../src/testing/remind-to-close.ts';
import { ManualClock } from '../support/manual-clock.ts';

const start = () => {
  const clock = new ManualClock();
  const written: string[] = [];
  return { clock, written, reminder: remindToClose(clock, (text) => written.push(text)) };
};

describe('the reminder to close a loop', () => {
  it('is written once, after half a minute in which the loop is not used', async () => {
    const { clock, written, reminder } = start();
    await clock.advance(29_999);
    reminder.used();
    await clock.advance(29_999);
    expect(written).toEqual([]);
    await clock.advance(1);
    expect(written).toEqual([REMINDER]);
    reminder.used();
    await clock.advance(60_000);
    expect(written).toEqual([REMINDER]);
    expect(REMINDER).toContain('did not call its close()');
  });

  it('is not written for a loop that is closed, even if it is still used', async () => {
    const { clock, written, reminder } = start();
    reminder.cancel();
    reminder.used();
    await clock.advance(60_000);
    expect(written).toEqual([]);
  });
});
