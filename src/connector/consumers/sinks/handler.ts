import type { Change } from '../../../contract/connector/changes.ts';
import type { HistoryMode } from '../../../contract/connector/consumers.ts';
import type { Sink } from './sink.ts';

/** What a handler receives with the change. */
export interface HandlerContext {
  /**
   * Identifies the change permanently: the same in each attempt and each replay, and different for every other
   * change. If you store it together with the effect, in one transaction, the effect occurs exactly once.
   */
  readonly key: string;
  /** 1 in the first call, increased by one in each further call. */
  readonly attempt: number;
  /** Aborts at the deadline of the call, and when the process must stop. An aborted call is repeated. */
  readonly signal: AbortSignal;
}

/** The CRM's own code. */
export interface ChangeHandlers {
  /**
   * Processes one change. Changes of a connection come one after the other, in the order of the feed; those of
   * different connections concurrently. A change counts as accepted when the function returns or its promise
   * resolves; if it throws, the same change comes again later. A change may come more than once: see
   * `context.key`.
   */
  onChange(change: Change, context: HandlerContext): void | Promise<void>;
  /**
   * Processes several changes of one connection in order, instead of `onChange`, if the `batch` of the consumer is above
   * 1. If it throws, they come again one by one, to `onChange`.
   */
  onChanges?(
    changes: readonly { readonly change: Change; readonly key: string }[],
    context: Omit<HandlerContext, 'key'>,
  ): void | Promise<void>;
  /** Maximum number of calls for one change before it becomes a dead letter. Default 12: about ten minutes. */
  readonly attempts?: number | undefined;
  /** Maximum duration of a call, in milliseconds. Default 30,000. */
  readonly deadlineMs?: number | undefined;
  /**
   * Changes of messages that were there before their connection (`historic`). `skip`: none. `quiet`, the default: in
   * order, but only while no other change can be called, so beside the newer changes of their connection. `all`: like any other.
   */
  readonly historic?: HistoryMode | undefined;
}

/** Types its argument, for editors. Has no other effect. */
export function defineHandlers(handlers: ChangeHandlers): ChangeHandlers {
  return handlers;
}

/** Calls the CRM's own code in this process. */
export function createHandlerSink(handlers: ChangeHandlers): Sink {
  return {
    async call({ changes, attempt, stop: signal }) {
      const [first] = changes;
      if (changes.length > 1) await handlers.onChanges?.(changes, { attempt, signal });
      else if (first !== undefined)
        await handlers.onChange(first.change, { key: first.key, attempt, signal });
      return { kind: 'taken' };
    },
    close: () => Promise.resolve(),
  };
}
