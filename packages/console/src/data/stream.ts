import type { StreamEvent } from './stream-event.ts';

/** `live`: the stream is open, and something of it was heard lately. `gone`: it broke, and is opened again. */
export type StreamState = 'connecting' | 'live' | 'gone';

/** A message from one tab to the others. A `state` is repeated with each heartbeat. */
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
const RETRY_MS = 1_000;
/** The server sends a heartbeat every 15 s. Without one, the stream is not live, whatever the connection seems to be. */
const SILENT_MS = 20_000;

/** Reads a stream of server-sent events to its end. `onHeard` is called for all that arrives, heartbeats included. */
async function readEvents(url: string, onHeard: () => void, onData: (data: string) => void): Promise<void> {
  const silent = new AbortController();
  let timer = setTimeout(() => silent.abort(), SILENT_MS);
  try {
    const { ok, body } = await fetch(url, { signal: silent.signal });
    if (!ok || body === null) return;
    let rest = '';
    const reader = body.pipeThrough(new TextDecoderStream()).getReader();
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      clearTimeout(timer);
      timer = setTimeout(() => silent.abort(), SILENT_MS);
      onHeard();
      const blocks = `${rest}${part.value}`.split('\n\n');
      rest = blocks.pop() ?? '';
      for (const line of blocks.flatMap((block) => block.split('\n')))
        if (line.startsWith('data: ')) onData(line.slice('data: '.length));
    }
  } catch {
    // It broke, or was silent for too long: the caller opens it again.
  } finally {
    clearTimeout(timer);
  }
}

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
  let silence: ReturnType<typeof setTimeout> | undefined;
  const setState = (next: StreamState): void => {
    clearTimeout(silence);
    if (next === 'live') silence = setTimeout(() => setState('connecting'), SILENT_MS);
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

  const lead = async (): Promise<never> => {
    const share = (event: StreamEvent): void => {
      post({ kind: 'event', event });
      hear(event);
    };
    const shareState = (next: StreamState): void => {
      post({ kind: 'state', state: next });
      setState(next);
    };
    for (;;) {
      let isOpen = false;
      const onHeard = (): void => {
        shareState('live');
        if (!isOpen) share({ type: 'changed', what: 'everything' });
        isOpen = true;
      };
      await readEvents(url, onHeard, (data) => share(read(data)));
      shareState('gone');
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
  };

  if (locks === undefined) void lead();
  // Held until the tab closes.
  void locks?.request(NAME, () => {
    isLeader = true;
    return lead();
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
