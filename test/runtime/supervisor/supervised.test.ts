import cluster from 'node:cluster';
import { EventEmitter } from 'node:events';
import { expect, it, onTestFinished } from 'vitest';
import { createMetrics } from '../../../src/runtime/metrics/metrics.ts';
import { findSupervisor } from '../../../src/runtime/supervisor/supervised.ts';
import { ManualClock } from '../../support/manual-clock.ts';

const SIGNALS = ['SIGINT', 'SIGHUP', 'SIGTERM'] as const;

it('a process whose figures cannot be read answers its supervisor without them', async () => {
  const sent: unknown[] = [];
  const send = (message: unknown, _handle: unknown, done: () => void): void => {
    sent.push(message);
    done();
  };
  const worker = Object.assign(new EventEmitter(), { isConnected: () => true, send });
  const before = SIGNALS.map((signal) => process.listeners(signal));
  Object.assign(cluster, { worker });
  onTestFinished(() => {
    Object.assign(cluster, { worker: undefined });
    SIGNALS.forEach((signal, index) => {
      for (const listener of process.listeners(signal))
        if (before[index]?.includes(listener) === false) process.off(signal, listener);
    });
  });
  const render = () => Promise.reject(new Error('the database is away'));
  findSupervisor()?.shareMetrics({ ...createMetrics(), render }, new ManualClock());
  worker.emit('message', { says: 'own metrics wanted', request: 7 });
  await new Promise((resolve) => setImmediate(resolve));
  expect(sent).toEqual([{ says: 'own metrics', request: 7, text: '' }]);
});
