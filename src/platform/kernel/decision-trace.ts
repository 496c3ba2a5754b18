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
export interface DecisionTrace {
  readonly steps: readonly CheckStep[];
  /** Id of the caller's credential; null until it is known. */
  readonly credentialId: string | null;
  /** The workspace of that credential; also null for an OAuth client. */
  readonly workspaceId: string | null;
  /** The connection that the call named; null until one is found. */
  readonly connectionId: string | null;
  /** The messages that the call sent or marked as read, up to a bound. */
  readonly messageIds: readonly string[];
  /** The body of the request as far as it was read; null if it was not. */
  readonly body: Buffer | null;
  /** Runs a part of the call; `passed`, `recognized` and `concerned` inside it write to this trace. */
  run<Result>(work: () => Result): Result;
  /** Ends the trace with the refusal. Later steps are not recorded. */
  refuse(error: unknown): void;
  /** Ends the trace of a call that succeeded: work after the answer is not recorded. */
  seal(): void;
}

interface OpenTrace {
  steps: CheckStep[];
  credentialId: string | null;
  workspaceId: string | null;
  connectionId: string | null;
  messageIds: readonly string[];
  body: Buffer | null;
  sealed: boolean;
}

const current = new AsyncLocalStorage<OpenTrace>();

function stepOf(check: CheckStep['check'], passed: boolean, why: string | undefined): CheckStep {
  return { check, passed, ...(why === undefined ? {} : { why }) };
}

/**
 * Records that a check passed. It is called right after the check, so that the trace shows only checks that ran.
 * Does nothing outside of a call, or once the call is answered.
 */
export function passed(check: CheckStep['check'], why?: string): void {
  const trace = current.getStore();
  if (trace === undefined || trace.sealed) return;
  // A check that is repeated under a lock is recorded once.
  if (trace.steps.some((step) => step.check === check)) return;
  trace.steps.push(stepOf(check, true, why));
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

export function createDecisionTrace(): DecisionTrace {
  const trace: OpenTrace = {
    steps: [],
    credentialId: null,
    workspaceId: null,
    connectionId: null,
    messageIds: [],
    body: null,
    sealed: false,
  };
  return {
    get steps() {
      return trace.steps;
    },
    get credentialId() {
      return trace.credentialId;
    },
    get workspaceId() {
      return trace.workspaceId;
    },
    get connectionId() {
      return trace.connectionId;
    },
    get messageIds() {
      return trace.messageIds;
    },
    get body() {
      return trace.body;
    },
    run: (work) => current.run(trace, work),
    refuse(error) {
      if (trace.sealed) return;
      trace.sealed = true;
      if (!(error instanceof Refusal) || error.check === null) return;
      const { check, reason } = error;
      // A check may pass in one part of the call and refuse in a later part.
      trace.steps = trace.steps.filter((step) => step.check !== check);
      trace.steps.push(stepOf(check, false, reason));
    },
    seal() {
      trace.sealed = true;
    },
  };
}
