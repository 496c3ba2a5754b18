import { type Host, hostsOf } from './database-url.ts';
import { DatabaseUnavailable } from './errors.ts';

/**
 * The place of the host to begin with, for each URL with several hosts: of the one that was used last or, if none
 * could be used, of one that answers, because it may be about to be promoted.
 */
const preferred = new Map<string, number>();

/**
 * The result of `attempt` on the first host of the URL that can be used, beginning with the one that was used last.
 * Throws what `attempt` throws if there is one host, and one error about all if there are several.
 */
export async function tryHosts<T>(url: string, attempt: (host: Host) => Promise<T>): Promise<T> {
  const hosts = hostsOf(url);
  const first = preferred.get(url) ?? 0;
  const failures: DatabaseUnavailable[] = [];
  let answering: number | undefined;
  for (const step of hosts.keys()) {
    const place = (first + step) % hosts.length;
    const host = hosts[place];
    if (host === undefined) break;
    try {
      const result = await attempt(host);
      if (hosts.length > 1) preferred.set(url, place);
      return result;
    } catch (error) {
      if (!(error instanceof DatabaseUnavailable) || error.reason === 'closed') throw error;
      failures.push(error);
      if (error.reason === 'not_ready') answering ??= place;
    }
  }
  if (answering !== undefined && hosts.length > 1) preferred.set(url, answering);
  throw summarize(failures);
}

/** Waiting helps if it helps with one of the hosts. */
function summarize(failures: readonly DatabaseUnavailable[]): DatabaseUnavailable {
  const cause = failures.findLast(({ permanent }) => !permanent) ?? failures.at(-1);
  if (cause === undefined) return new DatabaseUnavailable('unreachable', 'the database URL has no host');
  if (failures.length === 1) return cause;
  return new DatabaseUnavailable(cause.reason, failures.map(({ message }) => message).join('; '), {
    ...(cause.code === undefined ? {} : { code: cause.code }),
    cause,
  });
}
