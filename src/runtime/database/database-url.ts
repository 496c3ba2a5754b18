import { DatabaseUnavailable } from './errors.ts';

/** One server of a URL. */
export interface Host {
  /** As the URL writes it: safe to log and to show. */
  readonly name: string;
  readonly target: { readonly host: string; readonly port: number } | { readonly path: string };
}

/** The part before the hosts, the first host, the others: several are allowed (`host1:5432,host2:5432`). */
const HOSTS = /^([a-z]+:\/\/(?:[^/?#]*@)?)([^/?#,]*)((?:,[^/?#,]*)*)/;
/** A name or address, IPv6 in brackets, and a port. */
const HOST = /^(\[[0-9a-f:.]+\]|[^:[\]]+)(?::(\d{1,5}))?$/i;
const LOOPBACK = /^(?:localhost|127(?:\.\d+){3}|\[::1\]|%2f.*)?(?::\d+)?$/i;
/** A % that is not part of a percent-encoding ends every decoder with an error that names no setting. */
export const MALFORMED = /%(?![0-9a-f]{2})/i;
const DEFAULT_PORT = 5432;

function splitHosts(url: string): readonly string[] {
  const [, , first = '', others = ''] = HOSTS.exec(url) ?? [];
  return [first, ...others.split(',').slice(1)];
}

/** The servers of a Postgres URL, in its order: each with its own port. Throws like `parseUrl`. */
export function hostsOf(url: string): readonly Host[] {
  parseUrl(url);
  return splitHosts(url).map((text) => {
    const [, place = '', digits] = HOST.exec(text) ?? [];
    const host = decodeURIComponent(place).replace(/^\[|\]$/g, '');
    const port = Number(digits ?? DEFAULT_PORT);
    const target = host.startsWith('/') ? { path: `${host}/.s.PGSQL.${port}` } : { host, port };
    return { name: decodeURIComponent(text), target };
  });
}

/** The target of a connection, without user, password and options: safe to log and to show. */
export function describeLocation(url: string, hosts: readonly Host[] = hostsOf(url)): string {
  return `${hosts.map(({ name }) => name).join(',')}${parseUrl(url).pathname}`;
}

/**
 * Parses a Postgres URL; of several hosts, the result has the first. Throws a `DatabaseUnavailable` that shows the
 * expected format, never the value.
 */
export function parseUrl(url: string): URL {
  // The URL parser accepts only one host.
  const parsed = /^postgres(?:ql)?:\/\//.test(url) ? URL.parse(url.replace(HOSTS, '$1$2')) : null;
  if (parsed === null || MALFORMED.test(url) || !splitHosts(url).every((host) => HOST.test(host))) {
    throw new DatabaseUnavailable(
      'rejected_session',
      'the database URL does not have the format postgres://user:password@host:5432/database ' +
        '(percent-encode special characters in the password; several hosts are separated by commas)',
    );
  }
  return parsed;
}

/** Whether `parseUrl` accepts the text. */
export function isDatabaseUrl(text: string): boolean {
  try {
    parseUrl(text);
    return true;
  } catch {
    return false;
  }
}

/** The same URL for another database of the servers. */
export function withDatabase(url: string, database: string): string {
  return url.replace(/^([a-z]+:\/\/[^/?#]*)(?:\/[^?#]*)?/, `$1/${database}`);
}

/**
 * The URL for the driver, which receives its sockets from us: it cannot parse each of our hosts, and would send what
 * it does not know to the server.
 */
export function driverUrl(url: string): string {
  const parsed = parseUrl(url);
  parsed.hostname = 'localhost';
  parsed.port = '';
  parsed.searchParams.delete('target_session_attrs');
  return parsed.href;
}

/**
 * Whether statements may be prepared by name. `?prepare=false` in the URL disables it, for a pooler in
 * transaction mode.
 */
export function prefersPrepared(url: string): boolean {
  return parseUrl(url).searchParams.get('prepare') !== 'false';
}

/** Whether a host of the URL may be another machine: it is neither a loopback address nor a Unix socket. */
export function leavesMachine(url: string): boolean {
  return splitHosts(url).some((host) => !LOOPBACK.test(host));
}
