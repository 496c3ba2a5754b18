import type { PlatformPorts } from '../platform/platform.ts';
import { type CallBoard, createCallBoard } from './calls/call-board.ts';
import { createFaultBoard, type FaultBoard } from './faults/fault-board.ts';
import { createTunnelBoard, type TunnelBoard } from './tunnel-board.ts';

/** What the service is started with, so that the sandbox can play with it. */
export interface SandboxPorts {
  readonly faults: FaultBoard;
  readonly calls: CallBoard;
  readonly hosts: TunnelBoard;
  /** For `createPlatform`. */
  readonly platform: PlatformPorts;
  /** Tells the ports which workspace the given webhook secret is for. */
  seeded(workspaceId: string): void;
}

export interface SandboxPortsOptions {
  /** Issued by every `PUT /webhook` of the seeded workspace in place of a random secret. */
  readonly webhookSecret?: string;
}

/** Made before the service; `createSandbox` takes the rest. */
export function createSandboxPorts({ webhookSecret }: SandboxPortsOptions = {}): SandboxPorts {
  const faults = createFaultBoard();
  const calls = createCallBoard();
  const hosts = createTunnelBoard();
  let seededWorkspace: string | undefined;
  return {
    faults,
    calls,
    hosts,
    platform: {
      webhookFaults: faults.webhook,
      apiFaults: faults.api,
      hosts,
      onCall: calls.onCall,
      webhookSecrets: {
        next: (workspaceId, reason) =>
          workspaceId === seededWorkspace && reason === 'put' ? webhookSecret : undefined,
      },
    },
    seeded(workspaceId) {
      seededWorkspace = workspaceId;
    },
  };
}
