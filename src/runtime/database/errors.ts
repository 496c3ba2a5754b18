import { DeadlinePassed } from '../clock/deadline.ts';

/**
 * Why the database did not accept a query. `permanent` reasons need an operator; the others may be temporary.
 */
export type UnavailableReason =
  | 'refused'
  | 'unreachable'
  | 'authentication'
  | 'missing_database'
  | 'unsupported_version'
  | 'unsupported_encoding'
  | 'rejected_session'
  | 'too_many_connections'
  | 'not_ready'
  | 'lost'
  | 'closed';

const PERMANENT: ReadonlySet<UnavailableReason> = new Set([
  'authentication',
  'missing_database',
  'unsupported_version',
  'unsupported_encoding',
  'rejected_session',
]);

interface FailureDetails {
  /** True if the statement or COMMIT had been sent: it may have taken effect. */
  readonly mayHaveCommitted?: boolean;
  /** SQLSTATE or socket code of the cause. */
  readonly code?: string;
  /** What to do, as it stands at the end of the message. */
  readonly advice?: string;
  readonly cause?: unknown;
}

/** No connection, or the connection ended before the response. The message states what to do. */
export class DatabaseUnavailable extends Error {
  override readonly name = 'DatabaseUnavailable';
  readonly reason: UnavailableReason;
  /** True if waiting will not help. */
  readonly permanent: boolean;
  readonly mayHaveCommitted: boolean;
  readonly code: string | undefined;
  /** The message without the advice. */
  readonly says: string;
  readonly advice: string | undefined;

  constructor(reason: UnavailableReason, says: string, details: FailureDetails = {}) {
    const { advice, cause } = details;
    super(advice === undefined ? says : `${says}: ${advice}`, cause === undefined ? undefined : { cause });
    this.reason = reason;
    this.says = says;
    this.advice = advice;
    this.permanent = PERMANENT.has(reason);
    this.mayHaveCommitted = details.mayHaveCommitted ?? false;
    this.code = details.code;
  }
}

/** The response did not arrive in time. The statement was cancelled and its connection closed. */
export class QueryDeadlineExceeded extends Error {
  override readonly name = 'QueryDeadlineExceeded';
  readonly deadlineMs: number;
  readonly phase: string;
  /** False if the query was still waiting for a connection, or its transaction had not reached COMMIT. */
  readonly mayHaveCommitted: boolean;

  constructor(deadlineMs: number, phase: string, mayHaveCommitted: boolean) {
    super(`the database did not respond within ${deadlineMs} ms (${phase})`);
    this.deadlineMs = deadlineMs;
    this.phase = phase;
    this.mayHaveCommitted = mayHaveCommitted;
  }
}

/** The same failure for a statement that would itself have committed: its effect is unknown. */
export function markUnknown(error: Error): Error {
  if (error instanceof DatabaseUnavailable) {
    const { reason, message, code, cause } = error;
    return new DatabaseUnavailable(reason, message, {
      mayHaveCommitted: true,
      ...(code === undefined ? {} : { code }),
      cause,
    });
  }
  if (error instanceof QueryDeadlineExceeded) {
    return new QueryDeadlineExceeded(error.deadlineMs, error.phase, true);
  }
  return error;
}

/** Whether a failed operation may have taken effect after all: its commit was sent and got no response. */
export function mayHaveCommitted(error: unknown): boolean {
  return (
    (error instanceof DatabaseUnavailable || error instanceof QueryDeadlineExceeded) && error.mayHaveCommitted
  );
}

/**
 * A query through the handle of a transaction that is over, by commit, failure or deadline. It was never
 * sent.
 */
export class TransactionOver extends Error {
  override readonly name = 'TransactionOver';

  constructor(cause?: unknown) {
    super(
      'this transaction is over; its handle accepts no more queries',
      cause === undefined ? {} : { cause },
    );
  }
}

/**
 * The server rejected a statement. The error never contains the statement, its
 * parameters or the row that the server quotes in its detail.
 */
export class QueryFailed extends Error {
  override readonly name = 'QueryFailed';
  /** SQLSTATE, five characters. */
  readonly code: string;

  constructor(message: string, code: string) {
    super(message);
    this.code = code;
  }
}

/** Five digits or capitals. Node's five-letter socket codes start with an E, which no SQLSTATE does. */
const SQLSTATE = /^(?!E[A-Z]{4})[0-9A-Z]{5}$/;
/** A lock was not available in time; the server is read-only at the moment. */
const PASSING: ReadonlySet<string> = new Set(['55P03', '25006']);
const CONNECTION_CLASSES: ReadonlySet<string> = new Set(['08', '40', '53', '57']);
const SOCKET_CODES: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ENOENT',
]);
const DEEPEST_CAUSE = 5;

function findInCauses<T>(error: unknown, find: (candidate: Error) => T | undefined): T | undefined {
  let candidate = error;
  for (let depth = 0; depth < DEEPEST_CAUSE && candidate instanceof Error; depth += 1) {
    const found = find(candidate);
    if (found !== undefined) return found;
    candidate = candidate.cause;
  }
  return undefined;
}

function codeOf(error: Error): string | undefined {
  const code: unknown = Reflect.get(error, 'code');
  return typeof code === 'string' ? code : undefined;
}

/** The SQLSTATE of an error or of one of its causes (drizzle wraps what the driver throws). */
export function sqlState(error: unknown): string | undefined {
  return findInCauses(error, (candidate) => {
    const code = codeOf(candidate);
    return code !== undefined && SQLSTATE.test(code) ? code : undefined;
  });
}

function isConnectionCode(code: string | undefined): boolean {
  if (code === undefined) return false;
  if (SOCKET_CODES.has(code) || code.startsWith('CONNECTION_') || code === 'CONNECT_TIMEOUT') return true;
  return SQLSTATE.test(code) && (PASSING.has(code) || CONNECTION_CLASSES.has(code.slice(0, 2)));
}

/**
 * True for failures that are unrelated to the statement itself, so that the same idempotent statement may be
 * retried. SQLSTATE classes 08, 40, 53 and 57, a lock not available in time (55P03), a read-only server
 * (25006), lost or refused connections, and deadlines.
 */
export function isConnectionFailure(error: unknown): boolean {
  const found = findInCauses(error, (candidate) =>
    candidate instanceof DatabaseUnavailable ||
    candidate instanceof QueryDeadlineExceeded ||
    candidate instanceof TransactionOver ||
    candidate instanceof DeadlinePassed ||
    isConnectionCode(codeOf(candidate))
      ? true
      : undefined,
  );
  return found === true;
}
