import { once } from 'node:events';
import { systemClock } from '../../../src/runtime/clock/system-clock.ts';
import { createLifecycle } from '../../../src/runtime/lifecycle/lifecycle.ts';
import { createLogger } from '../../../src/runtime/logger/logger.ts';
import { ManualClock } from '../../support/manual-clock.ts';

// A separate process for the signal tests. Its argument selects the behavior.
const behavior = process.argv[2];
const logger = createLogger({ level: 'info', name: 'fixture', destination: 'stdout' });
// Pauses between the first signal and what follows it.
const clock = new ManualClock();
await clock.advance(5_000);
const onStop = {
  begun: () => undefined,
  ended: (ms: number) => void process.stdout.write(`ended after ${ms} ms\n`),
};
const lifecycle = createLifecycle({ logger, clock, deadlineMs: 60_000, onStop });

lifecycle.onClose('listener', async () => {
  if (behavior === 'hang') {
    await clock.advance(200);
    process.stdout.write('hangs\n');
    await systemClock.sleep(60_000);
  }
  if (behavior === 'echo') {
    process.stdout.write('listens\n');
    await once(process, 'SIGINT');
  }
  if (behavior === 'fail') throw new Error('the step broke');
  if (behavior === 'good') await clock.advance(300);
  process.stdout.write('closed\n');
});
lifecycle.closeOnSignals();
process.stdout.write('ready\n');

if (behavior === 'reject') void Promise.reject(new Error('nobody listens'));
if (behavior === 'throw') systemClock.after(1, () => JSON.parse('{'), { keepAlive: true });
await systemClock.sleep(30_000);
