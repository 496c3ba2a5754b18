import { describeLocation, parseUrl } from './database-url.ts';
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
    advice: 'nothing listens there; is Postgres running, and are host and port right?',
  },
  ENOENT: { reason: 'refused', advice: 'the socket file does not exist; is Postgres running?' },
  ENOTFOUND: { reason: 'unreachable', advice: 'the host name is unknown; check it for a typing mistake' },
  EAI_AGAIN: {
    reason: 'unreachable',
    advice: 'the host name cannot be resolved now; check the name service',
  },
  '28P01': { reason: 'authentication', advice: 'the password is wrong for this user; correct it in the URL' },
  '28000': {
    reason: 'authentication',
    advice: 'this user may not connect like this; check the user, TLS (?sslmode=require) and pg_hba.conf',
  },
  '3D000': {
    reason: 'missing_database',
    advice: 'this database does not exist; create it, or correct the name in the URL',
  },
  '42501': { reason: 'authentication', advice: 'this user may not connect to this database; grant CONNECT' },
  '53300': {
    reason: 'too_many_connections',
    advice: 'all connections are taken; raise max_connections or lower the pool sizes',
  },
  '57P03': { reason: 'not_ready', advice: 'the server is starting or stopping; try again soon' },
  '08P01': {
    reason: 'rejected_session',
    advice:
      'the server refused a session setting; behind pgbouncer in transaction mode add ?prepare=false to the URL',
  },
};

/** How Node and OpenSSL call what is wrong with a certificate or a handshake. */
const TLS_CODES = /CERT|SIGNATURE|SELF_SIGNED|^ERR_(?:SSL|TLS)_/;

function explainCode(code: string | undefined): Explanation {
  const known = code === undefined ? undefined : BY_CODE[code];
  if (known !== undefined) return known;
  if (code?.startsWith('53') === true)
    return BY_CODE['53300'] ?? { reason: 'too_many_connections', advice: '' };
  if (code?.startsWith('57') === true) return { reason: 'not_ready', advice: 'the server ended the session' };
  if (code !== undefined && TLS_CODES.test(code)) {
    return {
      reason: 'rejected_session',
      advice:
        'no TLS connection that can be trusted; name the authority of its certificate in NODE_EXTRA_CA_CERTS, ' +
        'or say in the URL how far to go (?sslmode=verify-full, require or disable)',
    };
  }
  if (code === 'CONNECTION_CLOSED' || code === 'ECONNRESET') {
    return {
      reason: 'lost',
      advice:
        'the connection was closed while it was opened; does Postgres listen there, with TLS if the URL asks for it?',
    };
  }
  return { reason: 'unreachable', advice: 'check the host, the port and the network' };
}

/** Turns whatever stopped a connection from being opened into one error that says what to do. */
export function explainConnectFailure(error: unknown, url: string): DatabaseUnavailable {
  const told = error instanceof DatabaseUnavailable && (error.reason !== 'lost' || error.code === undefined);
  if (told) return error;
  const code = error instanceof Error ? textProperty(error, 'code') : undefined;
  const { reason, advice } = explainCode(code);
  const user = decodeURIComponent(parseUrl(url).username);
  const who = user === '' ? '' : ` as ${user}`;
  return new DatabaseUnavailable(reason, `cannot use Postgres at ${describeLocation(url)}${who}: ${advice}`, {
    ...(code === undefined ? {} : { code }),
    cause: error,
  });
}

/** Turns what the driver rejects a statement with into our own errors, without statement and parameters. */
export function explainQueryFailure(error: unknown): Error {
  if (!(error instanceof Error))
    return new DatabaseUnavailable('lost', 'the connection failed', { cause: error });
  if (error instanceof DatabaseUnavailable || error instanceof QueryDeadlineExceeded) return error;
  const code = textProperty(error, 'code');
  if (error.name === 'PostgresError' && code !== undefined) {
    const constraint = textProperty(error, 'constraint_name');
    const table = textProperty(error, 'table_name');
    const column = textProperty(error, 'column_name');
    return new QueryFailed(error.message, code, {
      ...(constraint === undefined ? {} : { constraint }),
      ...(table === undefined ? {} : { table }),
      ...(column === undefined ? {} : { column }),
    });
  }
  if (code === undefined) return error;
  return new DatabaseUnavailable('lost', 'the connection to the database was lost before the answer', {
    code,
  });
}
