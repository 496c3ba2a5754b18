import { callSink } from '../connector/consumers/call-sink.ts';
import { demandHandlers } from '../connector/consumers/check-handlers.ts';
import { DEFAULT_ATTEMPTS, DEFAULT_DEADLINE_MS } from '../connector/consumers/consumers.ts';
import { passes } from '../connector/consumers/passes.ts';
import {
  type ChangeHandlers,
  createHandlerSink,
  type HandlerContext,
} from '../connector/consumers/sinks/handler.ts';
import type { Change } from '../contract/connector/changes.ts';
import { systemClock } from '../runtime/clock/system-clock.ts';

/** One call of a handler. `error` is what it threw; undefined if it accepted the change. */
export interface HandlerCall {
  readonly change: Change;
  readonly attempt: number;
  readonly error: unknown;
}

/** What became of delivered changes. */
export interface Delivered {
  /** The changes that the handler accepted, in this order. */
  readonly taken: readonly Change[];
  /** The changes that it did not accept in any attempt. */
  readonly deadLetters: readonly {
    readonly change: Change;
    readonly attempts: number;
    readonly error: unknown;
  }[];
  /** Every call, in the order in which they ended. */
  readonly calls: readonly HandlerCall[];
}

/**
 * Calls a handler with changes as the connector does: those of a connection one after the other, those of different
 * connections concurrently; a change that fails is repeated with the same key before the next one of its connection, and
 * becomes a dead letter after the last attempt. Historic changes are left out if the handler skips them, and so are the
 * waits between the attempts.
 * Throws a TypeError for invalid handlers.
 */
export async function deliver(
  handler: ChangeHandlers | ChangeHandlers['onChange'],
  changes: Change | readonly Change[],
): Promise<Delivered> {
  const handlers: ChangeHandlers = typeof handler === 'function' ? { onChange: handler } : handler;
  demandHandlers(handlers);
  const sink = createHandlerSink(handlers);
  const taken: Change[] = [];
  const deadLetters: Delivered['deadLetters'][number][] = [];
  const calls: HandlerCall[] = [];
  const most = handlers.attempts ?? DEFAULT_ATTEMPTS;

  const hand = async (change: Change): Promise<void> => {
    for (let attempt = 1; ; attempt += 1) {
      const end = await callSink(
        sink,
        { changes: [{ change, key: `delivered-by-a-test:${change.seq}` }], attempt },
        {
          clock: systemClock,
          consumer: 'handler',
          deadlineMs: handlers.deadlineMs ?? DEFAULT_DEADLINE_MS,
          stop: new AbortController().signal,
        },
      );
      const error = 'error' in end ? end.error : undefined;
      calls.push({ change, attempt, error });
      if (end.kind === 'taken') {
        taken.push(change);
        return;
      }
      if (attempt >= most) {
        deadLetters.push({ change, attempts: attempt, error });
        return;
      }
    }
  };

  const receives = { filter: {}, historic: handlers.historic ?? 'quiet' };
  const passed = ([changes].flat() as Change[]).filter((change) => passes(change, receives));
  const queues = Map.groupBy(passed, ({ connectionId }) => connectionId);
  await Promise.all(
    [...queues.values()].map(async (queue) => {
      for (const change of queue) await hand(change);
    }),
  );
  return { taken, deadLetters, calls };
}

/** A handler that records its calls. */
export interface RecordingHandlers extends ChangeHandlers {
  /** Every call so far, in order. */
  readonly calls: readonly { readonly change: Change; readonly context: HandlerContext }[];
}

/**
 * A handler that fails in the first `times` calls and passes the following ones on to `onChange`.
 */
export function failsThenTakes(
  times: number,
  onChange: ChangeHandlers['onChange'] = () => undefined,
): RecordingHandlers {
  const calls: RecordingHandlers['calls'][number][] = [];
  return {
    calls,
    onChange(change, context) {
      calls.push({ change, context });
      if (calls.length <= times) throw new Error(`call ${calls.length} of ${times} that fail`);
      return onChange(change, context);
    },
  };
}
