import { SandboxError } from '../control/sandbox-error.ts';
import type { Handlers } from '../control/serve-endpoint.ts';
import type { TunnelBoard } from '../tunnels/tunnel-board.ts';

/** Tunnels: public hosts that lead to targets of ours. `changed` is awaited after each change. */
export function hostEndpoints(hosts: TunnelBoard, changed: () => Promise<void>) {
  return {
    listHosts: () => ({ entries: hosts.all() }),
    async putHost({ param, body }) {
      const tunnel = hosts.put(param('host'), body.target);
      await changed();
      return tunnel;
    },
    async deleteHost({ param }) {
      if (!hosts.remove(param('host')))
        throw new SandboxError('not_found', 'No tunnel is open for this host.');
      await changed();
      return { ok: true as const };
    },
  } satisfies Handlers;
}
