import { useSyncExternalStore } from 'react';

const HIDDEN = 'console-first-steps';
const listeners = new Set<() => void>();
const areShown = (): boolean => localStorage.getItem(HIDDEN) === null;

/** Shows the first steps, or hides them until they are asked for again. */
export function showSteps(isShown: boolean): void {
  if (isShown) localStorage.removeItem(HIDDEN);
  else localStorage.setItem(HIDDEN, 'hidden');
  for (const listener of listeners) listener();
}

function listen(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export const useStepsShown = (): boolean => useSyncExternalStore(listen, areShown);
