import type { ChangedList, SandboxEvent } from '../../contract/sandbox/calls.ts';

/** Receives events for one reader. */
export interface EventListener {
  /** An event in the format of the stream. If it cannot be written, `list` is reported as changed instead. */
  event(text: string, list: ChangedList | null): void;
  /** A list is to be read again. */
  changed(list: ChangedList): void;
}

type PublishedEvent = Exclude<SandboxEvent, { type: 'changed' }>;

/** The list that a reader who missed an event of a type reads again; null if the next event makes up for it. */
const LIST_OF: Readonly<Record<PublishedEvent['type'], ChangedList | null>> = {
  ledger: 'ledger',
  delivery: 'deliveries',
  call: 'calls',
  change: 'connector',
  clock: null,
};

/** One event in the format of the stream. */
export function toText(event: SandboxEvent): string {
  return `data: ${JSON.stringify(event)}\n\n`;
}

export type EventHub = ReturnType<typeof createEventHub>;

/** Passes events to all listeners. */
export function createEventHub() {
  const listeners = new Set<EventListener>();
  return {
    /** Calls `make` once for all listeners, and only if there are any. */
    publish(make: () => PublishedEvent): void {
      if (listeners.size === 0) return;
      const event = make();
      const text = toText(event);
      for (const listener of listeners) listener.event(text, LIST_OF[event.type]);
    },
    changed(...lists: readonly ChangedList[]): void {
      for (const listener of listeners) for (const list of lists) listener.changed(list);
    },
    /** The returned function ends it. */
    listen(listener: EventListener): () => void {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}
