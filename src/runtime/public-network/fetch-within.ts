import { Agent, buildConnector, fetch as undiciFetch } from 'undici';
import { type CheckedHost, checkHost } from './check-host.ts';
import { type HostLookup, lookupHost } from './host-lookup.ts';
import type { Network } from './public-address.ts';
import { skipInterim } from './skip-interim.ts';

const CONNECT_WITHIN_MS = 10_000;

/**
 * A `fetch` that opens sockets only to addresses of one network, or to `any`. They are checked and pinned at every
 * connect, so a name that later resolves elsewhere is not followed. Otherwise it fails like `fetch`, with
 * `AddressRefused` as the cause. Interim responses are passed over. Idle connections are kept open, separately from
 * those of the global `fetch`.
 */
export function fetchWithin(network: Network | 'any', lookup: HostLookup = lookupHost): typeof fetch {
  const check = async (host: string): Promise<CheckedHost> =>
    network === 'any' ? { host } : await checkHost(host, lookup, network);
  const agent = new Agent({
    connect: skipInterim((options, callback) => {
      check(options.hostname.replace(/^\[|\]$|\.$/g, '')).then(
        ({ lookup: pinned }) =>
          buildConnector({
            timeout: CONNECT_WITHIN_MS,
            allowH2: false,
            ...(pinned === undefined ? {} : { lookup: pinned }),
          })(options, callback),
        (error: Error) => callback(error, null),
      );
    }),
  });
  return async (input, init) => {
    const request = new Request(input, init);
    // The text declares its length by itself. A body that is to be streamed declares it in a header.
    const body = request.headers.has('content-length') ? request.body : await request.text();
    const answer = await undiciFetch(request.url, {
      method: request.method,
      headers: [...request.headers],
      body: request.body === null ? null : body,
      duplex: 'half',
      redirect: request.redirect,
      signal: request.signal,
      dispatcher: agent,
    });
    // The package's own class, which behaves like the global one.
    return answer as unknown as Response;
  };
}
