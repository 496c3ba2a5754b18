import { systemClock } from '../runtime/clock/system-clock.ts';
import { createEventParser } from '../runtime/http-server/event-parser.ts';

/** Nothing reports what only the test can see, such as the calls of its handler. */
const LOOK_MS = 100;

/**
 * Evaluates `condition` now, after each event of the sandbox, and ten times a second, until it returns something truthy.
 * If it throws, it is evaluated again. After `timeoutMs`, unless that is 0, `finish` is awaited and the condition
 * evaluated for the last time. Throws then, with what the condition threw last as the cause.
 */
export async function waitUntil<Value>(
  eventsUrl: string,
  condition: () => Value | Promise<Value>,
  timeoutMs: number,
  finish: () => Promise<void>,
): Promise<Value> {
  const leave = new AbortController();
  let wake = (): void => undefined;
  void followEvents(eventsUrl, leave.signal, () => wake()).catch(() => undefined);
  const begunAt = systemClock.elapsed();
  let isLast = timeoutMs === 0;
  let thrown: unknown;
  try {
    for (;;) {
      const woken = new Promise<void>((resolve) => {
        wake = resolve;
      });
      try {
        const value = await condition();
        if (value) return value;
      } catch (error) {
        thrown = error;
      }
      if (isLast) {
        const why = thrown instanceof Error ? `: ${thrown.message}` : '';
        throw new Error(`The condition did not hold within ${timeoutMs} ms${why}`, { cause: thrown });
      }
      if (systemClock.elapsed() - begunAt >= timeoutMs) {
        await finish();
        isLast = true;
        continue;
      }
      const cancel = systemClock.after(LOOK_MS, wake, { keepAlive: true });
      await woken;
      cancel();
    }
  } finally {
    leave.abort();
  }
}

async function followEvents(url: string, signal: AbortSignal, onEvent: () => void): Promise<void> {
  const { body } = await fetch(url, { signal });
  const parse = createEventParser();
  for await (const text of body?.pipeThrough(new TextDecoderStream()) ?? []) {
    if (parse(text).length > 0) onEvent();
  }
}
