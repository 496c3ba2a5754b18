import type { MessageReceivedEvent, MessageStatusEvent } from '../../src/contract/service/events.ts';

/** What one request of the run says. Pure: the same run and index always plan the same event. */
export type PlannedEvent =
  | { readonly kind: 'received'; readonly messageId: string; readonly connection: number }
  | {
      readonly kind: 'status';
      readonly messageId: string;
      readonly connection: number;
      readonly status: Status;
    };

type ServiceEvent = MessageReceivedEvent | MessageStatusEvent;
type Status = 'sent' | 'delivered' | 'read';

/** The rows a store must hold after the first `used` events of a run. */
export interface ExpectedRows {
  /** Distinct messages, whether known by their text or by a status alone. */
  readonly messages: number;
  /** Outgoing messages by the highest status that was offered. */
  readonly statuses: Readonly<Record<Status, number>>;
}

const CONNECTIONS = 20;
/** Five events make a block: two messages received, and one each of sent, delivered and read. */
const BLOCK = 5;
/** How many blocks later a message is delivered and read, so that statuses update rows made earlier. */
const DELIVERED_AFTER = 20;
const READ_AFTER = 100;

const WORDS =
  'good morning is the parcel on its way or shall I call the shop again before noon thanks see you at seven'.split(
    ' ',
  );

/** Plans event `index` of a run. Runs never share a message. */
export function planEvent(run: number, index: number): PlannedEvent {
  const block = Math.floor(index / BLOCK);
  const slot = index % BLOCK;
  if (slot === 1) return statusOf(run, block, 'sent');
  if (slot === 2 && block >= DELIVERED_AFTER) return statusOf(run, block - DELIVERED_AFTER, 'delivered');
  if (slot === 4 && block >= READ_AFTER) return statusOf(run, block - READ_AFTER, 'read');
  return { kind: 'received', messageId: messageId('i', run, index), connection: connectionOf(index) };
}

function statusOf(run: number, message: number, status: Status): PlannedEvent {
  return {
    kind: 'status',
    messageId: messageId('o', run, message),
    connection: connectionOf(message * 7),
    status,
  };
}

/** A cuid's shape: 25 characters, rising as messages are made. */
function messageId(kind: 'i' | 'o', run: number, number: number): string {
  return `cm${kind}${base36(run, 6)}${base36(number, 8)}0benchm0`;
}

function connectionOf(number: number): number {
  return (number * 13) % CONNECTIONS;
}

function base36(value: number, width: number): string {
  return value.toString(36).padStart(width, '0');
}

/** A planned event as the service writes it. `at` is its payload timestamp in epoch ms. */
export function serviceEvent(event: PlannedEvent, index: number, at: number): ServiceEvent {
  const connection_id = `cmconnection${base36(event.connection, 13)}`;
  if (event.kind === 'status') {
    const message = { id: event.messageId, wa_id: null, status: event.status, timestamp: at };
    return { event: 'message.status', connection_id, message };
  }
  const message = {
    id: event.messageId,
    wa_id: `3EB0${event.messageId.toUpperCase()}`,
    from: `4917${String(10_000_000 + (index % 5000))}`,
    text: textOf(index),
    media_url: null,
    media_type: null,
    timestamp: at,
  };
  return { event: 'message.received', connection_id, message };
}

/** A text of 1 to 40 words. */
export function textOf(index: number): string {
  const words: string[] = [];
  for (let word = 0; word <= (index * 31) % 40; word++)
    words.push(WORDS[(index + word * 3) % WORDS.length] ?? '');
  return words.join(' ');
}

/** Says what must be stored once the first `used` events of a run were acknowledged. */
export function expectedRows(run: number, used: number): ExpectedRows {
  const rank: Record<Status, number> = { sent: 1, delivered: 2, read: 3 };
  const outgoing = new Map<string, Status>();
  let incoming = 0;
  for (let index = 0; index < used; index++) {
    const event = planEvent(run, index);
    if (event.kind === 'received') {
      incoming++;
      continue;
    }
    const known = outgoing.get(event.messageId);
    if (known === undefined || rank[event.status] > rank[known]) outgoing.set(event.messageId, event.status);
  }
  const statuses: Record<Status, number> = { sent: 0, delivered: 0, read: 0 };
  for (const status of outgoing.values()) statuses[status]++;
  return { messages: incoming + outgoing.size, statuses };
}
