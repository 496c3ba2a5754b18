/**
 * Port: public hosts whose deliveries go to another target. This is the only exception from the rule that deliveries
 * go only to public addresses. The service has none.
 */
export interface TunnelHosts {
  /** The `http://` origin that replaces a host (lower case, no trailing dot), if any. */
  target(host: string): string | undefined;
}

export const noTunnels: TunnelHosts = { target: () => undefined };
