import type { PortalSessions } from '../platform/oauth/portal-session.ts';
import type { PlatformPorts } from '../platform/platform.ts';
import { type CallBoard, createCallBoard, type SavedCalls } from './calls/call-board.ts';
import { IssuedSecrets } from './deliveries/issued-secrets.ts';
import { presentDelivery } from './endpoints/delivery-endpoints.ts';
import { changedByTimer } from './events/changed-lists.ts';
import { createEventHub, type EventHub } from './events/event-hub.ts';
import { aroundAttempts } from './faults/around-attempts.ts';
import { createCallEdge } from './faults/around-calls.ts';
import { createFaultBoard, type FaultBoard, type SavedFaults } from './faults/fault-board.ts';
import { recordTransition } from './transitions/transition-log.ts';
import { createTunnelBoard, type TunnelBoard } from './tunnels/tunnel-board.ts';

/** What the sandbox does not keep in its database. */
export interface SandboxMemory {
  readonly faults: SavedFaults;
  readonly calls: SavedCalls;
  readonly secrets: ReturnType<IssuedSecrets['save']>;
  readonly closedHosts: readonly string[];
  readonly hidden: readonly string[];
}

/** The ports that the service is started with, and what the sandbox controls it by. */
export interface SandboxPorts {
  readonly faults: FaultBoard;
  readonly calls: CallBoard;
  readonly hosts: TunnelBoard;
  readonly secrets: IssuedSecrets;
  /** Passes on what happens in the service to the readers of the stream. */
  readonly events: EventHub;
  /** Calls `listener` whenever the ledger has new events. */
  onLedger(listener: () => void): void;
  /** For `createPlatform`. */
  readonly platform: PlatformPorts;
  /** Sets the workspace that the given webhook secret is for. */
  seeded(workspaceId: string): void;
  /** Hides a workspace of the sandbox from users. */
  hide(workspaceId: string): void;
  /** The workspaces that are hidden. */
  hidden(): readonly string[];
  save(): SandboxMemory;
  /** Restores what was saved, in new ports whose tunnels are pinned. */
  load(memory: SandboxMemory): void;
}

export interface SandboxPortsOptions {
  /** Issued by each `PUT /webhook` of the seeded workspace instead of a random secret. */
  readonly webhookSecret?: string;
  /** Addresses, CIDR ranges and host names that tunnels may target, besides this machine. */
  readonly tunnelTargets?: readonly string[];
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

/** Creates the ports, which the service needs at its start. `createSandbox` follows. */
export function createSandboxPorts({ webhookSecret, tunnelTargets }: SandboxPortsOptions = {}): SandboxPorts {
  const faults = createFaultBoard();
  const edge = createCallEdge(faults);
  const calls = createCallBoard();
  const hosts = createTunnelBoard(tunnelTargets);
  const secrets = new IssuedSecrets();
  const events = createEventHub();
  const ledgerListeners: (() => void)[] = [];
  let seededWorkspace: string | undefined;
  const hidden: string[] = [];
  return {
    faults,
    calls,
    hosts,
    secrets,
    events,
    onLedger: (listener) => void ledgerListeners.push(listener),
    platform: {
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
    },
    seeded(workspaceId) {
      seededWorkspace = workspaceId;
    },
    hide: (workspaceId) => void hidden.push(workspaceId),
    hidden: () => hidden,
    save: () => ({
      faults: faults.save(),
      calls: calls.save(),
      secrets: secrets.save(),
      closedHosts: hosts.closed(),
      hidden: [...hidden],
    }),
    load(memory) {
      faults.load(memory.faults);
      calls.load(memory.calls);
      secrets.load(memory.secrets);
      for (const host of memory.closedHosts) hosts.remove(host);
      hidden.push(...memory.hidden);
    },
  };
}
