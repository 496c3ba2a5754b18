/** What the server answers at `/console.json`. */
export interface ConsoleMode {
  readonly mode: 'sandbox' | 'production';
  /** Whether the page may change anything. */
  readonly write: boolean;
  /** Whether a connector is attached. */
  readonly connector: boolean;
  /** The connector in production: what its environment is called, and its address. */
  readonly deployment?: { readonly environment: string; readonly address: string };
}

/** What the page is connected to, for its strip and its title: `production · read-only · connector.example.com`. */
export function describeMode({ deployment, write }: ConsoleMode): string {
  if (deployment === undefined) return 'Local sandbox';
  return `${deployment.environment} · ${write ? 'reads and writes' : 'read-only'} · ${deployment.address}`;
}

/** A screen of the console. Its page is served at `path`, and at one segment below it. */
export interface Screen {
  readonly path: `/${string}`;
  readonly label: string;
  /** `g` and this letter lead there. */
  readonly key: string;
  readonly modes: readonly ConsoleMode['mode'][];
}

/** The screens in the order of the navigation. The first one of a mode is where `/` leads. */
export const SCREENS = [
  { path: '/overview', label: 'Overview', key: 'o', modes: ['sandbox', 'production'] },
  { path: '/connections', label: 'Connections', key: 'n', modes: ['sandbox'] },
  { path: '/phone', label: 'Phone', key: 'p', modes: ['sandbox'] },
  { path: '/inbox', label: 'Inbox', key: 'i', modes: ['sandbox', 'production'] },
  { path: '/deliveries', label: 'Deliveries', key: 'd', modes: ['sandbox', 'production'] },
  { path: '/calls', label: 'Calls', key: 'c', modes: ['sandbox'] },
  { path: '/sync', label: 'Sync', key: 's', modes: ['sandbox', 'production'] },
  { path: '/access', label: 'Access', key: 'a', modes: ['sandbox'] },
  { path: '/journey', label: 'Journey', key: 'j', modes: ['sandbox', 'production'] },
] as const satisfies readonly Screen[];

export function screensOf({ mode }: ConsoleMode): readonly (typeof SCREENS)[number][] {
  return SCREENS.filter(({ modes }) => (modes as readonly string[]).includes(mode));
}
