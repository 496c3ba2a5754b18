import type { ChangedList, SandboxEvent } from '../../contract/sandbox/calls.ts';

/** Takes what happens, for one reader. */
export interface EventListener {
  /** An event in the form of the stream. Whoever cannot take it tells later that `list` changed. */
  event(text: string, list: ChangedList | null): void;
  /** A list is to be read again. */
  changed(list: ChangedList): void;
}

/** Hands what happens to whoever listens. */
export interface EventHub {
  /** `make` runs only when somebody listens, and once for all. */
  publish(make: () => PublishedEvent): void;
  changed(...lists: readonly ChangedList[]): void;
  /** The answer ends it. */
  listen(listener: EventListener): () => void;
}

type PublishedEvent = Exclude<SandboxEvent, { type: 'changed' }>;

/** What a reader who missed an event of a type reads again; null: the next one says all. */
const LIST_OF: Readonly<Record<PublishedEvent['type'], ChangedList | null>> = {
  ledger: 'ledger',
  delivery: 'deliveries',
  call: 'calls',
  clock: null,
};

/** One event as it goes over the wire. */
export function toText(event: SandboxEvent): string {
  return `data: ${JSON.stringify(event)}\n\n`;
}

export function createEventHub(): EventHub {
  const listeners = new Set<EventListener>();
  return {
    publish(make) {
      if (listeners.size === 0) return;
      const event = make();
      const text = toText(event);
      for (const listener of listeners) listener.event(text, LIST_OF[event.type]);
    },
    changed(...lists) {
      for (const listener of listeners) for (const list of lists) listener.changed(list);
    },
    listen(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}
