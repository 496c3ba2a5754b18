import { describe, expect, it } from 'vitest';
import { PollSuperseded, READ_AHEAD } from '../../../src/connector/reconcile/poll-context.ts';
import { createPagePipeline } from '../../../src/connector/reconcile/walk-messages.ts';
import type { PolledMessage } from '../../../src/connector/service-client/service-client.ts';

function page(id: string): PolledMessage[] {
  const rest = {
    text: null,
    mediaUrl: null,
    mediaType: null,
    status: null,
    errorMessage: null,
    waMessageId: null,
    certain: true,
  };
  return [{ id, connectionId: 'c', direction: 'incoming', createdAt: 0, ...rest }];
}

/** A pipeline whose statements end when the test says so, or at once. */
function open(finish: () => Promise<boolean> = async () => true) {
  const statements: string[][] = [];
  const pipeline = createPagePipeline<number>(async (items) => {
    statements.push(items.map(({ id }) => id));
    return await finish();
  });
  const put = (number: number) => pipeline.put(page(String(number)), number);
  return { pipeline, put, statements };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

describe('a pipeline', () => {
  it('stores a single page after the next one could be requested', async () => {
    const { put, statements } = open();
    for (let number = 0; number < 3; number += 1) {
      await put(number);
      expect(statements).toHaveLength(number);
      await turn();
      await turn();
      expect(statements[number]).toEqual([String(number)]);
    }
  });

  it('gathers the pages that arrive during a statement', async () => {
    const gate = Promise.withResolvers<boolean>();
    const { pipeline, put, statements } = open(() => gate.promise);
    for (let number = 0; number < 4; number += 1) {
      await put(number);
      await turn();
    }
    gate.resolve(true);
    await pipeline.run(Promise.resolve());
    expect(statements).toEqual([['0'], ['1', '2', '3']]);
  });

  it('makes the walk wait if it is full, and stores everything in order', async () => {
    const gate = Promise.withResolvers<boolean>();
    const { pipeline, put, statements } = open(() => gate.promise);
    for (let number = 0; number < READ_AHEAD; number += 1) await put(number);
    let room = false;
    const last = put(READ_AHEAD).then(() => {
      room = true;
    });
    await turn();
    expect(room).toBe(false);
    gate.resolve(true);
    await pipeline.run(last);
    expect(statements.flat()).toEqual(Array.from({ length: READ_AHEAD + 1 }, (_, number) => `${number}`));
  });

  it('stores what it contains if the walk fails', async () => {
    const { pipeline, put, statements } = open();
    const walk = (async () => {
      await put(0);
      await put(1);
      throw new Error('the service is away');
    })();
    await expect(pipeline.run(walk)).rejects.toThrow('the service is away');
    expect(statements.flat()).toEqual(['0', '1']);
  });

  it('stores nothing more once the lease is lost, and reports it', async () => {
    const { pipeline, put, statements } = open(async () => false);
    await put(0);
    await turn();
    await turn();
    expect(pipeline.signal.aborted).toBe(true);
    await expect(put(1)).rejects.toThrow(PollSuperseded);
    await expect(pipeline.run(Promise.resolve())).rejects.toThrow(PollSuperseded);
    expect(statements).toEqual([['0']]);
  });
});
