import type { Clock } from '../runtime/clock/clock.ts';

const IDLE_SECONDS = 30;

export const REMINDER = `A test loop was not used for ${IDLE_SECONDS} s, and keeps this process running. If the tests have ended, something did not call its close(): a missing afterAll, or a beforeAll that timed out before the loop had started.\n`;

/** What keeps track of whether a loop is used. */
export interface Reminder {
  /** The loop is used now. */
  used(): void;
  /** The loop is closed. */
  cancel(): void;
}

/** Writes once if a loop that is not closed is not used for half a minute: a process that it keeps running says why. */
export function remindToClose(clock: Pick<Clock, 'after'>, write: (text: string) => void): Reminder {
  let cancel = (): void => undefined;
  let isOver = false;
  const used = (): void => {
    cancel();
    if (isOver) return;
    cancel = clock.after(IDLE_SECONDS * 1_000, () => {
      isOver = true;
      write(REMINDER);
    });
  };
  used();
  return {
    used,
    cancel() {
      isOver = true;
      cancel();
    },
  };
}
