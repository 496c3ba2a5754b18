import {
  type ConditionList,
  WAIT_MS,
  type Waited,
  type WaitRequest,
} from '../../contract/sandbox/conditions.ts';
import type { Clock } from '../../runtime/clock/clock.ts';
import type { EventHub } from '../events/event-hub.ts';
import { type ConditionLists, nameEntry, readCondition } from './condition-lists.ts';

export interface WaitOptions {
  readonly lists: ConditionLists;
  readonly events: EventHub;
  /** The system clock. */
  readonly clock: Clock;
}

/** How many entries are named. */
const SHOWN = 3;

/** Resolves at the next event after the previous call, or when `over` aborts. */
function followEvents(events: EventHub, over: AbortSignal) {
  let hasNews = false;
  let wake = (): void => undefined;
  const notify = (): void => {
    hasNews = true;
    wake();
  };
  const leave = events.listen({ event: notify, changed: notify });
  over.addEventListener('abort', () => wake(), { once: true });
  return {
    leave,
    async next(): Promise<void> {
      if (!hasNews && !over.aborted)
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      hasNews = false;
    },
  };
}

/**
 * Waits until `count` entries of the list match, checking again after each event of the service, or until the time or
 * `signal` is over. Throws `invalid_request` for a filter that the list does not take.
 */
export async function waitFor(
  { lists, events, clock }: WaitOptions,
  { list, q = '', count = 1, timeoutMs = WAIT_MS.default }: WaitRequest,
  signal: AbortSignal,
): Promise<Waited> {
  readCondition(list, q);
  const begunAt = clock.elapsed();
  const timeout = new AbortController();
  const cancel = clock.after(timeoutMs, () => timeout.abort());
  const over = AbortSignal.any([timeout.signal, signal]);
  const news = followEvents(events, over);
  try {
    for (;;) {
      // Read before checking: what happens during the check is news.
      const isLast = over.aborted || timeoutMs === 0;
      const entries = await lists[list](q, count);
      const holds = entries.length >= count;
      if (holds || isLast) {
        const explanation = holds
          ? `${count} of ${count} found: ${nameAll(list, entries)}.`
          : await explainMiss(lists, list, entries, count);
        const waitedMs = Math.round(clock.elapsed() - begunAt);
        return { list, holds, waitedMs, entries, explanation } as Waited;
      }
      await news.next();
    }
  } finally {
    cancel();
    news.leave();
  }
}

function nameAll(list: ConditionList, entries: readonly Waited['entries'][number][]): string {
  const shown = entries.slice(0, SHOWN).map((entry) => nameEntry(list, entry));
  const more = entries.length > SHOWN ? ` and ${entries.length - SHOWN} more` : '';
  return `${shown.join(', ')}${more}`;
}

/** What there is instead: the newest others of the list. */
async function explainMiss(
  lists: ConditionLists,
  list: ConditionList,
  entries: readonly Waited['entries'][number][],
  count: number,
): Promise<string> {
  const found = entries.length === 0 ? '' : ` (${nameAll(list, entries)})`;
  const so = `${entries.length} of ${count} found${found}.`;
  const matching = new Set(entries.map(({ id }) => id));
  const others = (await lists[list]('', SHOWN + entries.length)).filter(({ id }) => !matching.has(id));
  if (others.length === 0) return `${so} There are no other ${list}.`;
  return `${so} The newest others: ${nameAll(list, others.slice(0, SHOWN))}.`;
}
