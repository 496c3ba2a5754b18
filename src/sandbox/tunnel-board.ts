import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import type { TunnelHosts } from '../platform/webhooks/tunnel-hosts.ts';
import { isPublicName } from '../platform/webhooks/webhook-url.ts';
import { SandboxError } from './sandbox-error.ts';

/** Public hosts that lead to this machine. */
export interface TunnelBoard extends TunnelHosts {
  /** A tunnel of the composition's own: `clear` brings it back. */
  pin(host: string, target: string): void;
  /** Opens or moves a tunnel. Throws `invalid_request` for what is no public host or no local target. */
  put(host: string, target: string): { host: string; target: string };
  /** False when there is no such tunnel. */
  remove(host: string): boolean;
  /** Those that `put` opened, to be found again after a restart. */
  list(): { host: string; target: string }[];
  /** Back to the pinned ones. */
  clear(): void;
}

/** The name as deliveries look it up: lower case, in ASCII, without a trailing dot. Null for what is no name. */
function normalizeHost(host: string): string | null {
  if (/[\s/?#@:\\[\]]/.test(host) || !URL.canParse(`https://${host}`)) return null;
  const name = new URL(`https://${host}`).hostname.replace(/\.$/, '');
  return isIP(name) === 0 && isPublicName(name) ? name : null;
}

function isLoopback(hostname: string): boolean {
  const bare = hostname.replace(/^\[|\]$/g, '');
  return bare === 'localhost' || (isIP(bare) !== 0 && ipaddr.process(bare).range() === 'loopback');
}

function normalizeTarget(target: string): string {
  const refuse = (): never => {
    const what = "must be 'http://', an address of this machine and a port, without a path";
    throw new SandboxError('invalid_request', `'target': ${what}.`, 'target');
  };
  if (!URL.canParse(target)) return refuse();
  const url = new URL(target);
  const isBare = url.pathname === '/' && url.search === '' && url.hash === '' && url.username === '';
  return url.protocol === 'http:' && isBare && isLoopback(url.hostname) ? url.origin : refuse();
}

export function createTunnelBoard(): TunnelBoard {
  const pinned = new Map<string, string>();
  const opened = new Map<string, string>();
  const closed = new Set<string>();

  return {
    target: (host) => opened.get(host) ?? (closed.has(host) ? undefined : pinned.get(host)),
    pin: (host, target) => void pinned.set(normalizeHost(host) ?? host, normalizeTarget(target)),
    put(host, target) {
      const name = normalizeHost(host);
      if (name === null) {
        throw new SandboxError('invalid_request', "'host': must be the name of a public host.", 'host');
      }
      const origin = normalizeTarget(target);
      opened.set(name, origin);
      return { host: name, target: origin };
    },
    remove(host) {
      const name = normalizeHost(host) ?? host;
      if (opened.delete(name)) return true;
      if (!pinned.has(name) || closed.has(name)) return false;
      closed.add(name);
      return true;
    },
    list: () => [...opened].map(([host, target]) => ({ host, target })),
    clear() {
      opened.clear();
      closed.clear();
    },
  };
}
