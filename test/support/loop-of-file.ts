import type { LoopOptions } from '../../src/commands/loop.ts';
import { startTestLoop, type TestLoop } from './loop.ts';
import { ofFile } from './of-file.ts';

/** A loop shared by all tests of a file: it starts before the first one and is closed after the last one. */
export function loopOfFile(options: Partial<LoopOptions> = {}): TestLoop {
  return ofFile(
    () => startTestLoop(options),
    (loop) => loop.close(),
  );
}
