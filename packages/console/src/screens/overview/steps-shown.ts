import { useSyncExternalStore } from 'react';

const HIDDEN = 'console-first-steps';
const SEEN = 'console-steps-seen';
const listeners = new Set<() => void>();

/** What only this browser knows of: that somebody looked, or copied. */
export type SeenStep = 'delivery' | 'journey' | 'environment';

function listen(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function publish(): void {
  for (const listener of listeners) listener();
}

/** Shows the first steps, or hides them until they are asked for again. */
export function showSteps(isShown: boolean): void {
  if (isShown) localStorage.removeItem(HIDDEN);
  else localStorage.setItem(HIDDEN, 'hidden');
  publish();
}

const seen = (): string => localStorage.getItem(SEEN) ?? '';

/** Ticks a step off that leaves no trace at the server. */
export function markSeen(step: SeenStep): void {
  if (seen().includes(step)) return;
  localStorage.setItem(SEEN, `${seen()} ${step}`.trim());
  publish();
}

export const useStepsShown = (): boolean =>
  useSyncExternalStore(listen, () => localStorage.getItem(HIDDEN) === null);

/** The names of the steps that were seen. */
export const useSeenSteps = (): string => useSyncExternalStore(listen, seen);
