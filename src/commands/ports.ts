/** The ports of the service's three servers. */
export interface ServicePorts {
  readonly sandbox: number;
  readonly platform: number;
  readonly legacy: number;
}

/** The ports of the whole loop. */
export interface LoopPorts extends ServicePorts {
  readonly connector: number;
}

const DEFAULT_BASE = 4_000;

/** Ports from a base: N, N+10, N+11 and N+20; with 0, each server uses a free port. */
export function portsFrom(base: number = DEFAULT_BASE): LoopPorts {
  if (base === 0) return { sandbox: 0, platform: 0, legacy: 0, connector: 0 };
  return { sandbox: base, platform: base + 10, legacy: base + 11, connector: base + 20 };
}
