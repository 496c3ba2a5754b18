import { readMode } from './client.ts';
import type { StreamEvent } from './stream-event.ts';

/** `live`: events arrive. `gone`: the server does not respond; the browser keeps trying. */
export type StreamState = 'connecting' | 'live' | 'gone';

/** A message from one tab to the others. */
type TabMessage =
  | { readonly kind: 'event'; readonly event: StreamEvent }
  | { readonly kind: 'state'; readonly state: StreamState }
  | { readonly kind: 'hello' };

export interface EventStream {
  /** The answer unsubscribes. */
  listen(listener: (event: StreamEvent) => void): () => void;
  state(): StreamState;
  onState(listener: () => void): () => void;
}

const NAME = 'console-stream';
/** A refused stream (too many readers) is not retried by the browser itself. */
const RETRY_MS = 2_000;

/**
 * One stream for the whole browser, because HTTP/1.1 permits six connections to an origin. One tab holds a lock and
 * the stream, and passes on what it hears; when it closes, the lock goes to the next. Events may have been
 * missed at each beginning, so it is announced as `changed: everything`. A browser has locks only over HTTPS and on
 * this machine; without them, each tab has its own stream.
 */
export function openEventStream(url: string, read: (data: string) => StreamEvent): EventStream {
  const listeners = new Set<(event: StreamEvent) => void>();
  const stateListeners = new Set<() => void>();
  const locks = (navigator as { readonly locks?: LockManager }).locks;
  const channel = locks === undefined ? undefined : new BroadcastChannel(NAME);
  let state: StreamState = 'connecting';
  let isLeader = false;

  const hear = (event: StreamEvent): void => {
    for (const listener of listeners) listener(event);
  };
  const setState = (next: StreamState): void => {
    if (state === next) return;
    state = next;
    for (const listener of stateListeners) listener();
  };
  const post = (message: TabMessage): void => channel?.postMessage(message);

  if (channel !== undefined)
    channel.onmessage = ({ data }: MessageEvent<TabMessage>) => {
      if (data.kind === 'event') hear(data.event);
      else if (data.kind === 'state') setState(data.state);
      else if (isLeader) post({ kind: 'state', state });
    };
  post({ kind: 'hello' });

  const lead = (): void => {
    const share = (event: StreamEvent): void => {
      post({ kind: 'event', event });
      hear(event);
    };
    const shareState = (next: StreamState): void => {
      post({ kind: 'state', state: next });
      setState(next);
    };
    const source = new EventSource(url);
    source.onopen = () => {
      shareState('live');
      share({ type: 'changed', what: 'everything' });
    };
    source.onmessage = ({ data }: MessageEvent<string>) => share(read(data));
    source.onerror = () => {
      shareState('gone');
      if (source.readyState !== EventSource.CLOSED) return;
      setTimeout(lead, RETRY_MS);
      // A stream does not say why it was refused; this call notices that the session has ended.
      void readMode().catch(() => undefined);
    };
  };

  if (locks === undefined) lead();
  // Held until the tab closes: the promise never resolves.
  void locks?.request(NAME, () => {
    isLeader = true;
    lead();
    return new Promise<never>(() => undefined);
  });

  return {
    listen(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    state: () => state,
    onState(listener) {
      stateListeners.add(listener);
      return () => stateListeners.delete(listener);
    },
  };
}
