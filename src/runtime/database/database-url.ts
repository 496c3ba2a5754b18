import { DatabaseUnavailable } from './errors.ts';

/** The target of a connection, without user, password and options: safe to log and to show. */
export function describeLocation(url: string): string {
  const parsed = parseUrl(url);
  return `${decodeURIComponent(parsed.host)}${parsed.pathname}`;
}

/** The part before the hosts, the first host, the others: several are allowed (`host1:5432,host2:5432`). */
const HOSTS = /(:\/\/(?:[^/?#]*@)?)([^/?#,]*)((?:,[^/?#,]*)*)/;
const LOOPBACK = /^(?:localhost|127(?:\.\d+){3}|\[::1\]|%2f.*)?(?::\d+)?$/i;

/** Parses a Postgres URL. Throws a `DatabaseUnavailable` that shows the expected format, never the value. */
export function parseUrl(url: string): URL {
  // The URL parser accepts only one host.
  const single = url.replace(HOSTS, '$1$2');
  const parsed = /^postgres(?:ql)?:\/\//.test(url) ? URL.parse(single) : null;
  if (parsed === null || parsed.hostname === '') {
    throw new DatabaseUnavailable(
      'rejected_session',
      'the database URL does not have the format postgres://user:password@host:5432/database ' +
        '(percent-encode special characters in the password)',
    );
  }
  return parsed;
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
  const [, , first = '', others = ''] = HOSTS.exec(url) ?? [];
  return [first, ...others.split(',').slice(1)].some((host) => !LOOPBACK.test(host));
}
