/** The commands, each with one line of what it does. `src/cli/<name>.ts` runs it. */
export const COMMANDS = {
  start: 'runs the whole loop: simulated network, service, sandbox and connector.',
  connector: 'runs the connector alone, against the service that the settings name.',
  platform: 'runs the service with its sandbox, for a connector of your own.',
  doctor: 'says what is wrong with a connector, how it knows, and what to do.',
  replay: 'merges the kept deliveries once more and shows how the stored messages differ.',
  conformance: 'grades an implementation of the service, over the wire alone.',
} as const;

export type CommandName = keyof typeof COMMANDS;
