/** The commands with a one-line summary. `src/cli/<name>.ts` runs them. */
export const COMMANDS = {
  start: 'runs the whole loop: simulated network, service, sandbox and connector.',
  connector: 'runs only the connector, against the service in the settings.',
  platform: 'runs the service with its sandbox, for a separate connector.',
  doctor: "names the causes of a connector's problems, with evidence and the fix.",
  replay: 'merges the stored deliveries again and shows which stored messages lack data.',
  sandbox: 'controls people, phones, time and faults of a running service: say, scan, advance, faults, …',
  consumers: 'manages what receives the changes of a running connector: list, create, pause, replay, …',
  console: 'serves the console beside a connector in production; it only reads unless --write is given.',
  export: 'writes messages or changes of a running connector to a file, as JSON lines with a checksum.',
  mcp: 'offers an agent the tools of a running connector on standard input and output.',
  scenario: 'replays a recorded scenario, or shrinks it to the causes of a failure.',
} as const;

export type CommandName = keyof typeof COMMANDS;
