import { isIP } from 'node:net';
import { isPublicName } from '../../platform/webhooks/webhook-url.ts';
import { findEntry, isAddressRange } from '../../runtime/addresses/address-ranges.ts';
import { isLoopbackHost } from '../../runtime/http-server/loopback.ts';
import { SandboxError } from '../control/sandbox-error.ts';

/** Normalizes a host: lower case, ASCII, without a trailing dot. Null if it is not a host name. */
function normalizeHost(host: string): string | null {
  if (/[\s/?#@:\\[\]]/.test(host) || !URL.canParse(`https://${host}`)) return null;
  const name = new URL(`https://${host}`).hostname.replace(/\.$/, '');
  return isIP(name) === 0 && isPublicName(name) ? name : null;
}

/** Whether a host is this machine, or one of the allowed addresses, ranges and names. */
function isAllowed(hostname: string, allowed: readonly string[]): boolean {
  if (isLoopbackHost(hostname)) return true;
  const bare = hostname.replace(/^\[|\]$/g, '');
  if (isIP(bare) === 0) return allowed.some((name) => name.toLowerCase() === bare);
  return findEntry(allowed.filter(isAddressRange), bare) !== null;
}

function normalizeTarget(target: string, allowed: readonly string[]): string {
  const refuse = (what: string): never => {
    throw new SandboxError('invalid_request', `'target': ${what}.`, 'target');
  };
  const url = URL.canParse(target) ? new URL(target) : null;
  const isBare = url?.pathname === '/' && url.search === '' && url.hash === '' && url.username === '';
  if (url?.protocol !== 'http:' || !isBare) {
    return refuse("must be 'http://', a host and a port, without a path");
  }
  if (isAllowed(url.hostname, allowed)) return url.origin;
  return refuse(
    'must be an address of this machine, or one that PLATFORM_TUNNEL_TARGETS allowed when the service was started',
  );
}

export type TunnelBoard = ReturnType<typeof createTunnelBoard>;

/**
 * Tunnels from public hosts to this machine or to another target of `allowed`: addresses, CIDR ranges and host names.
 */
export function createTunnelBoard(allowed: readonly string[] = []) {
  const pinned = new Map<string, string>();
  const opened = new Map<string, string>();
  const closed = new Set<string>();

  return {
    target: (host: string) => opened.get(host) ?? (closed.has(host) ? undefined : pinned.get(host)),
    /** Opens a tunnel that `clear` restores. */
    pin: (host: string, target: string) =>
      void pinned.set(normalizeHost(host) ?? host, normalizeTarget(target, allowed)),
    /** Opens or moves a tunnel. Throws `invalid_request` for a host that is not public or a target not allowed. */
    put(host: string, target: string) {
      const name = normalizeHost(host);
      if (name === null) {
        throw new SandboxError('invalid_request', "'host': must be the name of a public host.", 'host');
      }
      const origin = normalizeTarget(target, allowed);
      opened.set(name, origin);
      return { host: name, target: origin };
    },
    /** False when there is no such tunnel. */
    remove(host: string): boolean {
      const name = normalizeHost(host) ?? host;
      if (opened.delete(name)) return true;
      if (!pinned.has(name) || closed.has(name)) return false;
      closed.add(name);
      return true;
    },
    /** The tunnels opened with `put`, to be stored. */
    list: () => [...opened].map(([host, target]) => ({ host, target })),
    /** All open tunnels, including pinned ones, by name. */
    all() {
      const open = new Map([...[...pinned].filter(([host]) => !closed.has(host)), ...opened]);
      return [...open].sort().map(([host, target]) => ({ host, target }));
    },
    /** The pinned tunnels that were closed with `remove`. */
    closed: () => [...closed],
    /** Closes all tunnels except pinned ones. */
    clear(): void {
      opened.clear();
      closed.clear();
    },
  };
}
