import { beforeEach, expect } from 'vitest';
import { callPortAt } from '../../src/commands/call-sandbox.ts';
import type { Target } from '../../src/scenario/replay.ts';
import type { TestLoop } from '../support/loop.ts';
import { createLoopClient, type LoopClient } from '../support/loop-client.ts';
import { loopOfFile } from '../support/loop-of-file.ts';

/** A loop for the tests of a file, reset before each test. */
export function scenarioWorld(): {
  readonly loop: TestLoop;
  readonly target: Target;
  /** Uses the key of the last reset. */
  readonly client: LoopClient;
} {
  const loop = loopOfFile();
  const settle = (): Promise<void> => loop.loop.settle();
  let client: LoopClient;
  beforeEach(async () => {
    await loop.sandbox('POST', '/reset');
    client = createLoopClient(loop.loop.info());
    // The connector has registered its webhook, and knows the connections.
    await settle();
    expect((await loop.sandbox<{ entries: unknown[] }>('GET', '/webhooks')).entries).toHaveLength(1);
  });
  return {
    loop,
    target: {
      call: (request) => callPortAt(loop.loop.info().sandboxUrl)(request),
      settle,
      sleep: settle,
    },
    get client() {
      return client;
    },
  };
}
