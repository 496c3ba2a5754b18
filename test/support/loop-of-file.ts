import { afterAll, beforeAll } from 'vitest';
import type { LoopOptions } from '../../src/commands/loop.ts';
import { startTestLoop, type TestLoop } from './loop.ts';

/** A loop shared by all tests of a file: it starts before the first one and is closed after the last one. */
export function loopOfFile(options: Partial<LoopOptions> = {}): TestLoop {
  let running: TestLoop | undefined;
  beforeAll(async () => {
    running = await startTestLoop(options);
  });
  afterAll(() => running?.close());
  return new Proxy({} as TestLoop, {
    get(_, name) {
      if (running === undefined) throw new Error('the loop starts before the first test, and not earlier');
      return Reflect.get(running, name);
    },
  });
}
