/** Milliseconds between our own deadline and the server's, so that ours is reported first. */
const SERVER_GRACE_MS = 1_000;
const IDLE_GRACE_MS = 5_000;

/** The server's limits on a statement, on waiting for a lock and on an idle transaction, in ms. */
interface ServerLimits {
  readonly statement_timeout: number;
  readonly lock_timeout: number;
  readonly idle_in_transaction_session_timeout: number;
}

/**
 * The server's limits for one of our deadlines. They apply if the server can no longer be reached: a frozen
 * network, a killed process. The lock timeout comes first, because after it the connection remains usable.
 */
function serverLimits(deadlineMs: number): ServerLimits {
  return {
    statement_timeout: Math.round(deadlineMs + SERVER_GRACE_MS),
    lock_timeout: Math.max(1, Math.round(deadlineMs / 2)),
    idle_in_transaction_session_timeout: Math.round(deadlineMs + IDLE_GRACE_MS),
  };
}

/**
 * Settings of all our sessions. If Postgres was built with LLVM, its estimates
 * make it compile our batch statements at each run, which takes longer than running them.
 */
const SETTINGS = { jit: 'off' };

/**
 * Parameters of a new session: name, UTC, ISO dates, settings, limits. A pooler in transaction mode rejects
 * settings and limits (its connections are shared), so without prepared statements each transaction sets its
 * own.
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
  for (const [name, value] of Object.entries({ ...SETTINGS, ...serverLimits(options.deadlineMs) }))
    parameters[name] = String(value);
  return parameters;
}

/** Statements that give a session the limits for a deadline. */
export function sessionLimits(deadlineMs: number): string {
  return writeSettings('set', { ...serverLimits(deadlineMs) });
}

/** Starts a transaction with the settings, and with the limits for a deadline; they end with it. */
export function beginTransaction(deadlineMs: number): string {
  return `begin; ${writeSettings('set local', { ...SETTINGS, ...serverLimits(deadlineMs) })}`;
}

function writeSettings(command: string, settings: Readonly<Record<string, string | number>>): string {
  return Object.entries(settings)
    .map(([name, value]) => `${command} ${name} = ${value}`)
    .join('; ');
}
