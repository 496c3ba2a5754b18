import { createServer } from 'node:http';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { systemClock } from '../../src/runtime/clock/system-clock.ts';
import { waitUntil } from '../../src/testing/wait-until.ts';
import { serve } from '../support/serve.ts';

let server: Awaited<ReturnType<typeof serve>>;
let isOpen = false;
const finish = vi.fn(async () => undefined);

/** A sandbox that reports one event on each stream. */
beforeEach(async () => {
  finish.mockClear();
  const sandbox = createServer((_, response) => {
    isOpen = true;
    response.on('close', () => {
      isOpen = false;
    });
    response.writeHead(200).write('data: {}\n\n');
  });
  server = await serve(sandbox);
});
afterEach(async () => {
  vi.restoreAllMocks();
  await server.close();
});

it('evaluates the condition with each event, and leaves the stream once it holds', async () => {
  // It is not looked at from time to time.
  vi.spyOn(systemClock, 'after').mockReturnValue(() => undefined);
  const condition = vi.fn<() => boolean>().mockReturnValueOnce(false).mockReturnValue(true);
  expect(await waitUntil(server.url, condition, 60_000, finish)).toBe(true);
  expect([condition.mock.calls.length, finish.mock.calls.length]).toEqual([2, 0]);
  await expect.poll(() => isOpen).toBe(false);
}, 20_000);

it('evaluates it once without a time, and fails with what it threw as the cause', async () => {
  const thrown = new Error('not yet');
  const condition = vi.fn(() => {
    throw thrown;
  });
  await expect(waitUntil(server.url, condition, 0, finish)).rejects.toMatchObject({
    message: 'The condition did not hold within 0 ms: not yet',
    cause: thrown,
  });
  expect([condition.mock.calls.length, finish.mock.calls.length]).toEqual([1, 0]);
});
