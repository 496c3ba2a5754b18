import type { ChangedList } from '../../contract/sandbox/calls.ts';
import type { Clock } from '../../runtime/clock/clock.ts';
import type { EventStream } from '../../runtime/http-server/event-stream.ts';
import { type EventListener, toText } from './event-hub.ts';

/** How much is kept for a reader that is slow, in characters. */
const MAX_WAITING = 1_000_000;
/** Changes of a list within this time are reported once. */
const GATHER_MS = 100;

/**
 * Writes events to one reader, in order. What a slow reader has not received is kept up to a limit. Beyond it, the
 * list of an entry is reported as changed instead, so a reader never stays out of date and memory is bounded.
 */
export class EventWriter implements EventListener {
  readonly #stream: EventStream;
  readonly #clock: Clock;
  readonly #changed = new Set<ChangedList>();
  #waiting: string[] = [];
  #waitingLength = 0;
  #blocked = false;
  #cancelGathering: (() => void) | undefined;

  constructor(stream: EventStream, clock: Clock) {
    this.#stream = stream;
    this.#clock = clock;
    stream.over.addEventListener('abort', () => this.#cancelGathering?.(), { once: true });
  }

  event(text: string, list: ChangedList | null): void {
    if (!this.#blocked) this.#write(text);
    else if (this.#waitingLength + text.length <= MAX_WAITING) {
      this.#waiting.push(text);
      this.#waitingLength += text.length;
    } else if (list !== null) this.changed(list);
  }

  changed(list: ChangedList): void {
    this.#changed.add(list);
    this.#cancelGathering ??= this.#clock.after(GATHER_MS, () => {
      this.#cancelGathering = undefined;
      if (!this.#blocked) this.#writeChanged();
    });
  }

  #write(text: string): void {
    const drained = this.#stream.write(text);
    if (drained === undefined) return;
    this.#blocked = true;
    void drained.then(() => this.#writeWaiting());
  }

  #writeWaiting(): void {
    this.#blocked = false;
    const text = this.#waiting.join('');
    this.#waiting = [];
    this.#waitingLength = 0;
    if (text !== '') this.#write(text);
    if (!this.#blocked && this.#cancelGathering === undefined) this.#writeChanged();
  }

  #writeChanged(): void {
    const lists = [...this.#changed];
    this.#changed.clear();
    if (lists.length > 0) this.#write(lists.map((what) => toText({ type: 'changed', what })).join(''));
  }
}
