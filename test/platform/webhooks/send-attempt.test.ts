import type { Dispatcher } from 'undici';
import { expect, it } from 'vitest';
import { type AttemptResult, sendAttempt } from '../../../src/platform/webhooks/send-attempt.ts';
import { ManualClock } from '../../support/manual-clock.ts';

it('an attempt that has timed out while it waited for a connection is not sent', async () => {
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
  await clock.advance(10_000);
  const abort = (reason: Error): void => void aborted.push(reason);
  handler.onRequestStart?.({ abort } as Dispatcher.DispatchController, null);
  expect(results).toEqual([{ error: 'timeout' }]);
  expect(aborted).toHaveLength(1);
});
