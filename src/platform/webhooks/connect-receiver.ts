import type { buildConnector } from 'undici';
import { type ConnectPublicOptions, connectPublic } from '../../runtime/public-network/connect-public.ts';
import type { TunnelHosts } from './tunnel-hosts.ts';

export interface ConnectReceiverOptions extends Omit<ConnectPublicOptions, 'detour'> {
  readonly hosts: TunnelHosts;
}

/**
 * How delivery reaches a receiver: TLS to an address that was found public right before, or plain TCP to a
 * tunnel's target.
 */
export function connectReceiver({ hosts, ...options }: ConnectReceiverOptions): buildConnector.connector {
  return connectPublic({
    ...options,
    detour({ host }) {
      const target = hosts.target(host);
      if (target === undefined) return undefined;
      const { hostname, port } = new URL(target);
      return { host: hostname.replace(/^\[|\]$/g, ''), port: Number(port || 80), tls: false };
    },
  });
}
