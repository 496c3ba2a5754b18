import type { Feed } from './feed/feed.ts';

interface Part {
  settle(): Promise<void>;
}

export interface ConnectorParts {
  /** All that write changes, in the order in which one usually causes work for the next. */
  readonly writers: readonly (Part | null | undefined)[];
  readonly feed: Pick<Feed, 'settle' | 'position'>;
  readonly consumers: Part;
}

/**
 * Resolves when nothing is in progress. A part may cause work for any other, as a handler that queues a message does,
 * and whatever it does is a change: so it ends with a round in which there was none.
 */
export async function settleParts({ writers, feed, consumers }: ConnectorParts): Promise<void> {
  for (let before = -1; ; ) {
    for (const part of writers) await part?.settle();
    await feed.settle();
    const { lastSeq } = await feed.position();
    await consumers.settle();
    if (lastSeq === before) return;
    before = lastSeq;
  }
}
