import type { ConsoleMode } from '../data/client.ts';

/** A screen in the navigation. `shell/router.tsx` has its routes. */
export interface Screen {
  readonly path: string;
  readonly label: string;
  /** `g` and this letter lead there. */
  readonly key: string;
  readonly modes: readonly ConsoleMode['mode'][];
}

/** The screens in the order of the navigation. The first one of a mode is where `/` leads. */
export const SCREENS = [
  { path: '/deliveries', label: 'Deliveries', key: 'd', modes: ['sandbox'] },
  { path: '/calls', label: 'Calls', key: 'c', modes: ['sandbox'] },
  { path: '/phone', label: 'Phone', key: 'p', modes: ['sandbox'] },
  { path: '/inbox', label: 'Inbox', key: 'i', modes: ['sandbox', 'production'] },
] as const satisfies readonly Screen[];

export function screensOf({ mode }: ConsoleMode): readonly (typeof SCREENS)[number][] {
  return SCREENS.filter(({ modes }) => (modes as readonly string[]).includes(mode));
}
