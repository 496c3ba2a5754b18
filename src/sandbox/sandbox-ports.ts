import type { PortalSessions } from '../platform/oauth/portal-session.ts';
import type { PlatformPorts } from '../platform/platform.ts';
import { createCallBoard, type SavedCalls } from './calls/call-board.ts';
import { IssuedSecrets } from './deliveries/issued-secrets.ts';
import { presentDelivery } from './endpoints/delivery-endpoints.ts';
import { changedByTimer } from './events/changed-lists.ts';
import { createEventHub } from './events/event-hub.ts';
import { aroundAttempts } from './faults/around-attempts.ts';
import { createCallEdge } from './faults/around-calls.ts';
import { createFaultBoard, type SavedFaults } from './faults/fault-board.ts';
import { recordTransition } from './transitions/transition-log.ts';
import { createTunnelBoard } from './tunnels/tunnel-board.ts';

/** What the sandbox does not keep in its database. */
export interface SandboxMemory {
  readonly faults: SavedFaults;
  readonly calls: SavedCalls;
  readonly secrets: ReturnType<IssuedSecrets['save']>;
  readonly closedHosts: readonly string[];
  readonly hidden: readonly string[];
}

export interface SandboxPortsOptions {
  /** Issued by each `PUT /webhook` of the seeded workspace instead of a random secret. */
  readonly webhookSecret?: string | undefined;
  /** Addresses, CIDR ranges and host names that tunnels may target, besides this machine. */
  readonly tunnelTargets?: readonly string[] | undefined;
}

/**
 * Sessions of the developer portal. The developer of an app is signed in on its consent pages. For an app whose
 * developer has no workspace, the user of the sandbox is, who owns all workspaces except `hidden`.
 */
function portalSessions(hidden: readonly string[]): PortalSessions {
  return {
    find: ({ ownerWorkspaceId }) =>
      ownerWorkspaceId === null
        ? { name: 'the user of the sandbox', workspaceIds: null, except: hidden }
        : { name: 'the developer of this app', workspaceIds: [ownerWorkspaceId] },
  };
}

export type SandboxPorts = ReturnType<typeof createSandboxPorts>;

/** Creates the ports that the service is started with, and by which `createSandbox` controls it. */
export function createSandboxPorts({ webhookSecret, tunnelTargets }: SandboxPortsOptions = {}) {
  const faults = createFaultBoard();
  const edge = createCallEdge(faults);
  const calls = createCallBoard();
  const hosts = createTunnelBoard(tunnelTargets);
  const secrets = new IssuedSecrets();
  const events = createEventHub();
  const ledgerListeners: (() => void)[] = [];
  let seededWorkspace: string | undefined;
  const hidden: string[] = [];
  const platform: PlatformPorts = {
    aroundAttempt: aroundAttempts(faults.webhook),
    aroundCall: edge.aroundCall,
    isStored: edge.isStored,
    portal: portalSessions(hidden),
    hosts,
    onCall: (call) => calls.onCall(edge.explain(call)),
    onEvents: () => {
      for (const notify of ledgerListeners) notify();
    },
    onDelivery: (record) => events.publish(() => ({ type: 'delivery', entry: presentDelivery(record) })),
    onTimers: (timers) => events.changed(...timers.flatMap(({ kind }) => changedByTimer(kind))),
    recordTransition,
    webhookSecrets: {
      next: (workspaceId, reason) =>
        workspaceId === seededWorkspace && reason === 'put' ? webhookSecret : undefined,
      inUse: (owner, secret) => secrets.add(owner, secret),
    },
  };
  return {
    faults,
    calls,
    hosts,
    secrets,
    /** Passes on what happens in the service to the readers of the stream. */
    events,
    /** Calls `listener` whenever the ledger has new events. */
    onLedger: (listener: () => void) => void ledgerListeners.push(listener),
    /** For `createPlatform`. */
    platform,
    /** Sets the workspace that the given webhook secret is for. */
    seeded(workspaceId: string): void {
      seededWorkspace = workspaceId;
    },
    /** Hides a workspace of the sandbox from users. */
    hide: (workspaceId: string) => void hidden.push(workspaceId),
    /** The workspaces that are hidden. */
    hidden: (): readonly string[] => hidden,
    save: (): SandboxMemory => ({
      faults: faults.save(),
      calls: calls.save(),
      secrets: secrets.save(),
      closedHosts: hosts.closed(),
      hidden: [...hidden],
    }),
    /** Restores what was saved, in new ports whose tunnels are pinned. */
    load(memory: SandboxMemory): void {
      faults.load(memory.faults);
      calls.load(memory.calls);
      secrets.load(memory.secrets);
      for (const host of memory.closedHosts) hosts.remove(host);
      hidden.push(...memory.hidden);
    },
  };
}
