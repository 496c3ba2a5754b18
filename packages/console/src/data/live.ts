import { QueryClient } from '@tanstack/react-query';
import { useSyncExternalStore } from 'react';
import type { ConsoleMode } from '../../../../src/contract/console/screens.ts';
import { createInvalidator } from './invalidate.ts';
import { REFRESH_MS } from './reading.ts';
import { type EventStream, openEventStream, type StreamState } from './stream.ts';
import type { StreamEvent } from './stream-event.ts';

/**
 * The queries of the page. The stream says which of them have changed; it may be silent because something has failed,
 * so what is on display is also read again by itself. The server is on this machine: no browser is offline for it.
 */
export const queries = new QueryClient({
  defaultOptions: {
    queries: { gcTime: 60_000, refetchInterval: REFRESH_MS, retry: false, networkMode: 'always' },
    mutations: { networkMode: 'always' },
  },
});

let opened: EventStream | undefined;
let given: ConsoleMode | undefined;

/** Begins to follow the server. Called once, before the page is drawn. */
export function goLive(mode: ConsoleMode): void {
  given = mode;
  opened =
    mode.mode === 'sandbox'
      ? openEventStream('/sandbox/v1/events', (data) => JSON.parse(data) as StreamEvent)
      : openEventStream('/connector/v1/changes/stream?after=latest', (data) => ({
          type: 'change',
          change: JSON.parse(data),
        }));
  opened.listen(createInvalidator(queries));
}

/** What the page is connected to. */
export function mode(): ConsoleMode {
  if (given === undefined) throw new Error('goLive comes first');
  return given;
}

export function stream(): EventStream {
  if (opened === undefined) throw new Error('goLive comes first');
  return opened;
}

export function useStreamState(): StreamState {
  return useSyncExternalStore(stream().onState, stream().state);
}
