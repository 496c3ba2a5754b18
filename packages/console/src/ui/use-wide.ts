import { useSyncExternalStore } from 'react';

const wide = matchMedia('(min-width: 1400px)');

function listen(listener: () => void): () => void {
  wide.addEventListener('change', listener);
  return () => wide.removeEventListener('change', listener);
}

/** Whether the window has room for a list and two chats beside each other. */
export const useWide = (): boolean => useSyncExternalStore(listen, () => wide.matches);
