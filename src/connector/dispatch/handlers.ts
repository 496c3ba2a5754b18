import type { Change } from '../../contract/connector/changes.ts';

/** What a handler is told beside the change. */
export interface HandlerContext {
  /**
   * Names the change for ever: the same in each attempt and each replay, and never that of another change.
   * Whoever keeps it beside the effect, in one transaction, has the effect exactly once.
   */
  readonly key: string;
  /** 1 in the first call, one more in each further one. */
  readonly attempt: number;
  /** Aborts at the deadline of the call, and when the process has to stop. What it ends is called again. */
  readonly signal: AbortSignal;
}

/** The CRM's own code. */
export interface ChangeHandlers {
  /**
   * Takes one change. Changes of a connection come one after another, in the order of the feed; those of
   * different connections side by side. It has taken the change when it returns, or when its promise resolves;
   * when it throws, the same change comes again later. A change may come more than once: see `context.key`.
   */
  onChange(change: Change, context: HandlerContext): void | Promise<void>;
  /** Calls of one change before it is set aside as a dead letter. Default 12: about ten minutes. */
  readonly attempts?: number | undefined;
  /** How long a call may take, in milliseconds. Default 30,000. */
  readonly deadlineMs?: number | undefined;
}

/** Names the type of what it is given, so that an editor knows it. Nothing else happens. */
export function defineHandlers(handlers: ChangeHandlers): ChangeHandlers {
  return handlers;
}
