/**
 * Public hosts whose deliveries go elsewhere: the only exception from the rule that deliveries leave for
 * public addresses alone. The service itself has none.
 */
export interface TunnelHosts {
  /** The `http://` origin that stands in for a host (lower case, no trailing dot), if any. */
  target(host: string): string | undefined;
}

export const noTunnels: TunnelHosts = { target: () => undefined };
