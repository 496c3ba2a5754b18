/** Milliseconds between our own deadline and the server's, so that ours speaks first. */
const SERVER_GRACE_MS = 1_000;
const IDLE_GRACE_MS = 5_000;

/** What the server may spend on a statement, on waiting for a lock and on an idle transaction, in ms. */
interface ServerLimits {
  readonly statement_timeout: number;
  readonly lock_timeout: number;
  readonly idle_in_transaction_session_timeout: number;
}

/**
 * The server's limits for a deadline of ours. They hold when we cannot speak to the server any more: a frozen
 * network, a killed process. A lock is given up first, since that leaves the connection usable.
 */
function serverLimits(deadlineMs: number): ServerLimits {
  return {
    statement_timeout: Math.round(deadlineMs + SERVER_GRACE_MS),
    lock_timeout: Math.max(1, Math.round(deadlineMs / 2)),
    idle_in_transaction_session_timeout: Math.round(deadlineMs + IDLE_GRACE_MS),
  };
}

/**
 * Parameters of a new session: name, UTC, ISO dates, limits. A pooler in transaction mode refuses the limits
 * (its connections are shared), so without prepared statements they are set per transaction alone.
 */
export function sessionParameters(options: {
  name: string;
  deadlineMs: number;
  prepare: boolean;
}): Record<string, string> {
  const parameters: Record<string, string> = {
    application_name: options.name.slice(0, 63),
    TimeZone: 'UTC',
    DateStyle: 'ISO',
  };
  if (!options.prepare) return parameters;
  for (const [name, value] of Object.entries(serverLimits(options.deadlineMs)))
    parameters[name] = String(value);
  return parameters;
}

/** Statements that give a session the limits for a deadline. */
export function sessionLimits(deadlineMs: number): string {
  return setLimits('set', deadlineMs);
}

/** Statements that give one transaction the limits for a deadline; they end with it. */
export function localLimits(deadlineMs: number): string {
  return setLimits('set local', deadlineMs);
}

function setLimits(command: string, deadlineMs: number): string {
  return Object.entries(serverLimits(deadlineMs))
    .map(([name, value]) => `${command} ${name} = ${value}`)
    .join('; ');
}
