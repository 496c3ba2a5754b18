import { AsyncLocalStorage } from 'node:async_hooks';
import type { Check, OauthCheck } from './checks.ts';
import { Refusal } from './platform-error.ts';

/** One check and what it said. */
export interface CheckStep {
  readonly check: Check | OauthCheck;
  readonly passed: boolean;
  /** The reason, as a phrase; names no secret. */
  readonly why?: string;
}

/** Which checks a call met, in the order in which they ran. Nothing of it reaches the wire. */
export interface DecisionTrace {
  readonly steps: readonly CheckStep[];
  /** Id of the credential that called; null until it is known. */
  readonly credentialId: string | null;
  /** The workspace of that credential; null for an OAuth client, too. */
  readonly workspaceId: string | null;
  /** The connection that the call named; null until one is found. */
  readonly connectionId: string | null;
  /** The messages that the call sent or marked as read, up to a bound. */
  readonly messageIds: readonly string[];
  /** Runs a part of the call; `passed`, `recognized` and `concerned` inside it write to this trace. */
  run<Result>(work: () => Result): Result;
  /** Ends the trace with what stopped the call. Later steps are not written. */
  refuse(error: unknown): void;
  /** Ends the trace of a call that was let through: what goes on behind the answer is no part of it. */
  seal(): void;
}

interface OpenTrace {
  steps: CheckStep[];
  credentialId: string | null;
  workspaceId: string | null;
  connectionId: string | null;
  messageIds: readonly string[];
  sealed: boolean;
}

const current = new AsyncLocalStorage<OpenTrace>();

function stepOf(check: CheckStep['check'], passed: boolean, why: string | undefined): CheckStep {
  return { check, passed, ...(why === undefined ? {} : { why }) };
}

/**
 * Writes that a check let the call through. Called where the check is made, right after it, so that the trace
 * tells what ran and not what should have. Outside a call, and once the call is answered, it does nothing.
 */
export function passed(check: CheckStep['check'], why?: string): void {
  const trace = current.getStore();
  if (trace === undefined || trace.sealed) return;
  // A check that is made again under a lock stands once.
  if (trace.steps.some((step) => step.check === check)) return;
  trace.steps.push(stepOf(check, true, why));
}

/** Writes whose call this is: which credential, and of which workspace if it is of one. */
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

export function createDecisionTrace(): DecisionTrace {
  const trace: OpenTrace = {
    steps: [],
    credentialId: null,
    workspaceId: null,
    connectionId: null,
    messageIds: [],
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
    run: (work) => current.run(trace, work),
    refuse(error) {
      if (trace.sealed) return;
      trace.sealed = true;
      if (!(error instanceof Refusal) || error.check === null) return;
      const { check, reason } = error;
      // A check may pass in one part and refuse in a later one.
      trace.steps = trace.steps.filter((step) => step.check !== check);
      trace.steps.push(stepOf(check, false, reason));
    },
    seal() {
      trace.sealed = true;
    },
  };
}
