/**
 * The longest that the process around a connector may take to end. Half of it is the connector's, by the rule of the
 * life-cycle: 4 s at most for open requests, then 8 s for a send that is under way at the service.
 */
export const CONNECTOR_SHUTDOWN_MS = 25_000;
