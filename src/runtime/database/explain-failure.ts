import { describeLocation, type Host, parseUrl, prefersPrepared } from './database-url.ts';
import { DatabaseUnavailable, QueryDeadlineExceeded, QueryFailed, type UnavailableReason } from './errors.ts';

interface Explanation {
  readonly reason: UnavailableReason;
  readonly advice: string;
}

function textProperty(error: object, key: string): string | undefined {
  const value: unknown = Reflect.get(error, key);
  return typeof value === 'string' ? value : undefined;
}

const BY_CODE: Readonly<Record<string, Explanation>> = {
  ECONNREFUSED: {
    reason: 'refused',
    advice: 'nothing is listening there; check that Postgres is running, and the host and port',
  },
  ENOENT: { reason: 'refused', advice: 'the socket file does not exist; check that Postgres is running' },
  ENOTFOUND: { reason: 'unreachable', advice: 'the host name does not exist; check the spelling' },
  EAI_AGAIN: {
    reason: 'unreachable',
    advice: 'the host name cannot be resolved at the moment; check DNS',
  },
  '28P01': {
    reason: 'authentication',
    advice: 'the password is wrong, or the user does not exist; correct the URL',
  },
  '28000': {
    reason: 'authentication',
    advice:
      'this user is not allowed to connect in this way; check the user, TLS (?sslmode=require) and pg_hba.conf',
  },
  '3D000': {
    reason: 'missing_database',
    advice: 'this database does not exist; create it, or correct the name in the URL',
  },
  '42501': {
    reason: 'authentication',
    advice: 'this user is not allowed to connect to this database; grant CONNECT',
  },
  '57P03': { reason: 'not_ready', advice: 'the server is starting or stopping; try again soon' },
};

/** The codes with which Node and OpenSSL report problems of a certificate or a handshake. */
const TLS_CODES = /CERT|SIGNATURE|SELF_SIGNED|^ERR_(?:SSL|TLS)_/;

const LOCKED =
  'another session of the database holds the lock; find it in pg_stat_activity, by the oldest xact_start, and end it';

/** Without a password, servers say this with the code of every other refusal. */
const NO_SUCH_USER: Explanation = {
  reason: 'authentication',
  advice: 'the user does not exist on this server; create it, or correct the URL',
};

/** A pooler uses this code for all of its own errors. */
const PROTOCOL_VIOLATION = '08P01';

function explainProtocol(message: string, url: string): Explanation {
  if (!/startup p|option/.test(message))
    return { reason: 'not_ready', advice: `it reports "${message}"; see its log` };
  const advice = prefersPrepared(url)
    ? 'behind pgbouncer in transaction mode add ?prepare=false to the URL'
    : 'add the parameter to ignore_startup_parameters of pgbouncer';
  return { reason: 'rejected_session', advice: `the session was rejected with "${message}"; ${advice}` };
}

function explainCode(code: string | undefined, message: string): Explanation {
  const known = code === undefined ? undefined : BY_CODE[code];
  if (known !== undefined) return known;
  // A limit of the server, of the database or of the user.
  if (code?.startsWith('53') === true) {
    const advice = `it reports "${message}"; raise that limit, or run fewer processes`;
    return { reason: 'too_many_connections', advice };
  }
  if (code?.startsWith('57') === true) return { reason: 'not_ready', advice: 'the server ended the session' };
  if (code !== undefined && TLS_CODES.test(code)) {
    return {
      reason: 'rejected_session',
      advice:
        'the TLS connection cannot be trusted; set NODE_EXTRA_CA_CERTS to a file with its certificate authority, ' +
        'or set the required level in the URL (?sslmode=verify-full, require or disable)',
    };
  }
  if (code === 'CONNECTION_CLOSED' || code === 'ECONNRESET') {
    return {
      reason: 'lost',
      advice:
        'the connection was lost while it was being opened; check that Postgres listens there, with TLS if the URL requests it',
    };
  }
  return { reason: 'unreachable', advice: 'check the host, the port and the network' };
}

/** Converts any failure to open a connection to a host of the URL into one error that states what to do. */
export function explainConnectFailure(error: unknown, url: string, host: Host): DatabaseUnavailable {
  const isExplained =
    error instanceof DatabaseUnavailable && (error.reason !== 'lost' || error.code === undefined);
  if (isExplained) return error;
  const code = error instanceof Error ? textProperty(error, 'code') : undefined;
  const message = error instanceof Error ? error.message : '';
  const { reason, advice } =
    code === PROTOCOL_VIOLATION
      ? explainProtocol(message, url)
      : code === '28000' && /role .* does not exist/.test(message)
        ? NO_SUCH_USER
        : explainCode(code, message);
  const user = decodeURIComponent(parseUrl(url).username);
  const who = user === '' ? '' : ` as ${user}`;
  return new DatabaseUnavailable(reason, `cannot use Postgres at ${describeLocation(url, [host])}${who}`, {
    ...(code === undefined ? {} : { code }),
    advice,
    cause: error,
  });
}

/**
 * Converts the errors with which the driver rejects a statement into our own, without statement and
 * parameters.
 */
export function explainQueryFailure(error: unknown): Error {
  if (!(error instanceof Error))
    return new DatabaseUnavailable('lost', 'the connection failed', { cause: error });
  if (error instanceof DatabaseUnavailable || error instanceof QueryDeadlineExceeded) return error;
  const code = textProperty(error, 'code');
  if (error.name === 'PostgresError' && code !== undefined) {
    const message = code === '55P03' ? `${error.message}: ${LOCKED}` : error.message;
    return new QueryFailed(message, code);
  }
  if (code === undefined) return error;
  return new DatabaseUnavailable('lost', 'the connection to the database was lost before the response', {
    code,
  });
}
