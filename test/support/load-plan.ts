import { seededRandom } from '../../src/platform/seeded-random.ts';

export type LoadStatus = 'sent' | 'delivered' | 'read' | 'failed';

/** One event of a load, and its body. */
export interface LoadEvent {
  readonly event: 'message.received' | 'message.status';
  readonly connectionId: string;
  readonly messageId: string;
  /** Null for a status. */
  readonly from: string | null;
  readonly text: string | null;
  /** Null for a received message. */
  readonly status: LoadStatus | null;
  /** How many copies are sent at the same time, because the service may send duplicates. */
  readonly copies: number;
  readonly body: string;
}

export interface LoadPlan {
  readonly seed: number;
  readonly messages: number;
  /** Payload time of the first event, epoch ms. */
  readonly startAt: number;
  readonly connections?: number;
}

/** The statuses of an outgoing message. `read` and `failed` exclude each other. */
const COURSES: readonly (readonly LoadStatus[])[] = [
  ['sent'],
  ['sent', 'delivered'],
  ['sent', 'delivered', 'read'],
  ['sent', 'delivered', 'read'],
  ['sent', 'failed'],
  ['sent', 'delivered', 'failed'],
];
const TEXTS = ['Hello', 'Grüße aus Köln', '"quoted" \\ and {braced}', 'two\nlines', '👋🏽 ok', '   '];
/** How many places an event may be moved ahead. */
const SHUFFLED_OVER = 40;
const COPIED = 0.1;

/**
 * Plans the events of a load: as many incoming as outgoing messages, the outgoing with all their statuses, in
 * a shuffled order. The same seed gives the same events, and no two are equal.
 */
export function planLoad(plan: LoadPlan): LoadEvent[] {
  const random = seededRandom(plan.seed);
  const pick = (below: number): number => Math.floor(random() * below);
  const events: { at: number; event: LoadEvent }[] = [];
  let place = 0;
  const add = (content: Omit<LoadEvent, 'body' | 'copies'>): void => {
    const copies = random() < COPIED ? 2 : 1;
    const event = { ...content, copies, body: writeBody(content, plan.startAt + place) };
    events.push({ at: place + random() * SHUFFLED_OVER, event });
    place += 1;
  };
  for (let number = 0; number < plan.messages; number += 1) {
    const named = {
      connectionId: `load${plan.seed}connection${pick(plan.connections ?? 8)}`,
      messageId: `load${plan.seed}message${number}`,
    };
    if (number % 2 === 0) {
      const text = `${TEXTS[pick(TEXTS.length)]} ${number}`;
      const from = `4477009${String(pick(1_000)).padStart(5, '0')}`;
      add({ event: 'message.received', ...named, from, text, status: null });
    } else {
      for (const status of COURSES[pick(COURSES.length)] ?? [])
        add({ event: 'message.status', ...named, from: null, text: null, status });
    }
  }
  return events.sort((a, b) => a.at - b.at).map(({ event }) => event);
}

/** The body as the specification shows it: `message.received` and `message.status`. */
export function writeBody(event: Omit<LoadEvent, 'body' | 'copies'>, timestamp: number): string {
  const { connectionId: connection_id, messageId: id, from, text, status } = event;
  const message =
    event.event === 'message.status'
      ? { id, wa_id: null, status, timestamp }
      : { id, wa_id: `3EB0${id}`, from, text, media_url: null, media_type: null, timestamp };
  return JSON.stringify({ event: event.event, connection_id, message });
}
