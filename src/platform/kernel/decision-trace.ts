import { AsyncLocalStorage } from 'node:async_hooks';
import type { Check, OauthCheck } from './checks.ts';
import { Refusal } from './platform-error.ts';

/** One check and its result. */
export interface CheckStep {
  readonly check: Check | OauthCheck;
  readonly passed: boolean;
  /** The reason, as a phrase; contains no secret. */
  readonly why?: string;
}

/** The checks of a call, in the order in which they ran. It is not sent to the client. */
export class DecisionTrace {
  steps: readonly CheckStep[] = [];
  /** Id of the caller's credential; null until it is known. */
  credentialId: string | null = null;
  /** The workspace of that credential; also null for an OAuth client. */
  workspaceId: string | null = null;
  /** The connection that the call named; null until one is found. */
  connectionId: string | null = null;
  /** The messages that the call sent or marked as read, up to a bound. */
  messageIds: readonly string[] = [];
  /** The body of the request as far as it was read; null if it was not. */
  body: Buffer | null = null;
  /** The call is answered: nothing more is recorded. */
  sealed = false;

  /** Runs a part of the call; `passed`, `recognized` and `concerned` inside it write to this trace. */
  run<Result>(work: () => Result): Result {
    return current.run(this, work);
  }

  /** Ends the trace with the refusal. Later steps are not recorded. */
  refuse(error: unknown): void {
    if (this.sealed) return;
    this.sealed = true;
    if (!(error instanceof Refusal) || error.check === null) return;
    const { check, reason } = error;
    // A check may pass in one part of the call and refuse in a later part.
    const others = this.steps.filter((step) => step.check !== check);
    this.steps = [...others, { check, passed: false, why: reason }];
  }

  /** Ends the trace of a call that succeeded: work after the answer is not recorded. */
  seal(): void {
    this.sealed = true;
  }
}

const current = new AsyncLocalStorage<DecisionTrace>();

/**
 * Records that a check passed. It is called right after the check, so that the trace shows only checks that ran.
 * Does nothing outside of a call, or once the call is answered.
 */
export function passed(check: CheckStep['check'], why?: string): void {
  const trace = current.getStore();
  if (trace === undefined || trace.sealed) return;
  // A check that is repeated under a lock is recorded once.
  if (trace.steps.some((step) => step.check === check)) return;
  trace.steps = [...trace.steps, { check, passed: true, ...(why === undefined ? {} : { why }) }];
}

/** Records the credential of the call, and its workspace if it has one. */
export function recognized(credentialId: string, workspaceId: string | null = null): void {
  const trace = current.getStore();
  if (trace !== undefined && !trace.sealed) Object.assign(trace, { credentialId, workspaceId });
}

/** A read receipt can mark a whole chat. */
const MAX_MESSAGES = 20;

/** Records which connection and which messages the call is about. */
export function concerned(of: {
  readonly connectionId?: string;
  readonly messageIds?: readonly string[];
}): void {
  const trace = current.getStore();
  if (trace === undefined || trace.sealed) return;
  const { connectionId = trace.connectionId, messageIds = trace.messageIds } = of;
  Object.assign(trace, { connectionId, messageIds: messageIds.slice(0, MAX_MESSAGES) });
}

/** Records the body of the request. */
export function received(body: Buffer): void {
  const trace = current.getStore();
  if (trace !== undefined && !trace.sealed) trace.body = body;
}
