/**
 * Maximum duration of the shutdown of the process around a connector. Half of it is the connector's own, by
 * the rule of its life cycle: at most 4 s for open requests, then 8 s for a send in flight at the service.
 */
export const CONNECTOR_SHUTDOWN_MS = 25_000;
