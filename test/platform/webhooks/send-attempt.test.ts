import type { Dispatcher } from 'undici';
import { expect, it } from 'vitest';
import { type AttemptResult, sendAttempt } from '../../../src/platform/webhooks/send-attempt.ts';
import { ManualClock } from '../../support/manual-clock.ts';

/** An attempt of which the test plays the connection. */
function begin() {
  const clock = new ManualClock();
  const results: AttemptResult[] = [];
  const aborted: Error[] = [];
  let handler: Dispatcher.DispatchHandler = {};
  const dispatch: Dispatcher['dispatch'] = (_request, given) => {
    handler = given;
    return true;
  };
  sendAttempt(
    { dispatch } as Dispatcher,
    { path: '/', headers: {}, body: Buffer.from('{}') },
    { clock, deadlineMs: 10_000 },
    (result) => results.push(result),
  );
  return { clock, results, aborted, handler };
}

it('an attempt that is only told to wait has no status', async () => {
  const { clock, results, handler } = begin();
  handler.onResponseStart?.({} as Dispatcher.DispatchController, 103, { server: 'a' });
  await clock.advance(10_000);
  expect(results).toEqual([{ error: 'timeout' }]);
});

it('an attempt that has timed out while it waited for a connection is not sent', async () => {
  const { clock, results, aborted, handler } = begin();
  await clock.advance(10_000);
  const abort = (reason: Error): void => void aborted.push(reason);
  handler.onRequestStart?.({ abort } as Dispatcher.DispatchController, null);
  expect(results).toEqual([{ error: 'timeout' }]);
  expect(aborted).toHaveLength(1);
});
