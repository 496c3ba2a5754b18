/**
 * Maximum duration of the shutdown of a process with a connector, in milliseconds. A step of the lifecycle gets at most
 * half of the remaining time. The connector's step needs 4 s for open requests, and then 8 s for a send in flight.
 */
export const CONNECTOR_SHUTDOWN_MS = 25_000;
