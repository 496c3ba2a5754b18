import type { MessageStatus } from '../../contract/service/statuses.ts';
import type { Queryable } from '../../runtime/database/database.ts';
import { CHANGE } from './change-mask.ts';
import type { ConnectionEventFacts, MessageFacts } from './facts.ts';
import { type FoldedConnection, foldConnections, rankConnectionEvent } from './fold-connections.ts';
import { type FoldedMessage, foldMessages } from './fold-facts.ts';
import { mergeStatement } from './merge-statement.ts';
import { toStorableText } from './storable-text.ts';

/** A verified delivery on its way to the raw log. */
export interface RawDelivery {
  readonly subscriptionId: string;
  readonly accountId: string;
  /** Epoch ms, our clock. */
  readonly receivedAt: number;
  /** The signed timestamp header, epoch ms. */
  readonly signedAt: number;
  readonly body: Uint8Array;
  /** The value of `event`, as far as it could be read. */
  readonly event: string | null;
  /** What it tells. Absent: nothing to merge, and `outcome` says why. */
  readonly message?: MessageFacts;
  readonly connection?: ConnectionEventFacts;
  readonly outcome?: 'unknown_event' | 'misfit' | 'unmergeable';
  readonly reason?: string;
}

/** What became of a delivery, as the raw log keeps it. */
export type DeliveryOutcome = 'merged' | 'unchanged' | 'foreign' | 'unknown_event' | 'misfit' | 'unmergeable';

/** A lease that must still be held when the batch is written. */
export interface Fence {
  readonly lease: string;
  readonly fence: number;
}

/**
 * Extra CTEs that run in the same statement, each `name AS (…)`, comma-separated. Their parameters are
 * numbered from `$1`. With a fence they must carry `EXISTS (SELECT FROM guard)`. They can read `merged`
 * (`connection_id, id, change_mask, status, previous_status`): the messages that this batch changed.
 */
export interface ExtraCtes {
  readonly ctes: string;
  readonly params: readonly unknown[];
}

export interface Batch {
  /** Epoch ms; the time of every change it makes. */
  readonly now: number;
  readonly deliveries?: readonly RawDelivery[];
  /** Facts beside those of the deliveries, in any order; the batch folds them. */
  readonly messages?: readonly MessageFacts[];
  readonly fence?: Fence;
  readonly also?: ExtraCtes;
}

/** A message that the batch created or changed. */
export interface MergedMessage {
  readonly connectionId: string;
  readonly messageId: string;
  /** Bits of `CHANGE`. */
  readonly changeMask: number;
  readonly status: MessageStatus | null;
  readonly previousStatus: MessageStatus | null;
}

export interface BatchResult {
  /** False: the fence was lost, and nothing was written. */
  readonly applied: boolean;
  readonly messages: readonly MergedMessage[];
  /** How many deliveries had which outcome. */
  readonly outcomes: Readonly<Partial<Record<DeliveryOutcome, number>>>;
}

/**
 * Writes a batch in one SQL statement: the raw log, the merged messages and connections, the changes for the
 * CRM. It resolves after the commit. Repeating a batch is safe: the merge changes nothing the second time,
 * and only the raw log holds its deliveries twice.
 *
 * Throws what the database throws; nothing is written then, unless the error says `mayHaveCommitted`.
 */
export async function commitBatch(
  db: Queryable,
  batch: Batch,
  options?: { readonly deadlineMs?: number },
): Promise<BatchResult> {
  const deliveries = batch.deliveries ?? [];
  const told = collectFacts(deliveries, batch.messages ?? []);
  const { messages, credits } = foldMessages(told.messages.map((entry) => entry.facts));
  const { connections, standing } = foldConnections(
    messages,
    told.connections.map((entry) => entry.facts),
  );
  const events = standing.size > 0;
  const deliveryCredits = creditDeliveries(deliveries, told, credits, standing);
  const params = [
    ...deliveryColumns(deliveries, deliveryCredits),
    ...messageColumns(messages),
    ...connectionColumns(connections, events),
    batch.now,
    deliveries.length > 0 ? 'webhook' : (messages[0]?.source ?? 'poll'),
    ...(batch.fence === undefined ? [] : [batch.fence.lease, batch.fence.fence]),
    ...(batch.also?.params ?? []),
  ];
  const [row] = await db.query<ResultRow>(
    mergeStatement({ events, fenced: batch.fence !== undefined, also: batch.also }),
    params,
    options,
  );
  if (row === undefined) throw new Error('the merge statement returned no row');
  return {
    applied: row.applied,
    messages: (row.messages ?? []).map(([connectionId, messageId, changeMask, status, previousStatus]) => ({
      connectionId,
      messageId,
      changeMask,
      status,
      previousStatus,
    })),
    outcomes: countOutcomes(row.outcomes),
  };
}

interface ResultRow {
  readonly applied: boolean;
  /** One word for each delivery. */
  readonly outcomes: string | null;
  readonly messages: [string, string, number, MessageStatus | null, MessageStatus | null][] | null;
}

function countOutcomes(words: string | null): BatchResult['outcomes'] {
  const counts: Partial<Record<DeliveryOutcome, number>> = {};
  for (const word of words === null ? [] : (words.split(' ') as DeliveryOutcome[])) {
    counts[word] = (counts[word] ?? 0) + 1;
  }
  return counts;
}

/** A fact with the index of the delivery that brought it; -1 for one beside the deliveries. */
interface Told<Facts> {
  readonly delivery: number;
  readonly facts: Facts;
}

interface Collected {
  readonly messages: Told<MessageFacts>[];
  readonly connections: Told<ConnectionEventFacts>[];
}

function collectFacts(deliveries: readonly RawDelivery[], beside: readonly MessageFacts[]): Collected {
  const messages: Told<MessageFacts>[] = [];
  const connections: Told<ConnectionEventFacts>[] = [];
  deliveries.forEach((delivery, index) => {
    if (delivery.outcome !== undefined) return;
    if (delivery.message !== undefined) messages.push({ delivery: index, facts: delivery.message });
    if (delivery.connection !== undefined) connections.push({ delivery: index, facts: delivery.connection });
  });
  for (const facts of beside) messages.push({ delivery: -1, facts });
  return { messages, connections };
}

/** Bits of `CHANGE` that each delivery may be credited with. */
function creditDeliveries(
  deliveries: readonly RawDelivery[],
  told: Collected,
  credits: readonly number[],
  standing: ReadonlySet<number>,
): readonly number[] {
  const byDelivery = new Array<number>(deliveries.length).fill(0);
  told.messages.forEach(({ delivery }, index) => {
    if (delivery >= 0) byDelivery[delivery] = credits[index] ?? 0;
  });
  told.connections.forEach(({ delivery }, index) => {
    if (standing.has(index)) byDelivery[delivery] = CHANGE.created | CHANGE.fields;
  });
  return byDelivery;
}

function deliveryColumns(deliveries: readonly RawDelivery[], credits: readonly number[]): unknown[] {
  let end = 0;
  const starts = deliveries.map((delivery) => {
    const start = end + 1;
    end += delivery.body.length;
    return start;
  });
  return [
    deliveries.map((delivery) => delivery.subscriptionId),
    deliveries.map((delivery) => delivery.accountId),
    deliveries.map((delivery) => delivery.receivedAt),
    deliveries.map((delivery) => delivery.signedAt),
    starts,
    deliveries.map((delivery) => delivery.body.length),
    deliveries.map((delivery) => toStorableText(delivery.event)),
    deliveries.map((delivery) => delivery.message?.connectionId ?? delivery.connection?.connectionId ?? null),
    deliveries.map((delivery) => delivery.message?.messageId ?? null),
    deliveries.map((delivery) => delivery.outcome ?? null),
    deliveries.map((delivery) => toStorableText(delivery.reason ?? null)),
    credits,
    Buffer.concat(deliveries.map((delivery) => delivery.body)),
  ];
}

function messageColumns(messages: readonly FoldedMessage[]): unknown[] {
  return [
    messages.map((message) => message.connectionId),
    messages.map((message) => message.messageId),
    messages.map((message) => message.accountId),
    messages.map((message) => message.direction),
    messages.map((message) => message.peer),
    messages.map((message) => message.text),
    messages.map((message) => message.mediaUrl),
    messages.map((message) => message.mediaType),
    messages.map((message) => message.status),
    messages.map((message) => message.errorMessage),
    messages.map((message) => message.waMessageId),
    messages.map((message) => message.createdAt),
    messages.map((message) => message.polled),
    messages.map((message) => message.webhookSeen),
    messages.map((message) => message.statusConflict),
  ];
}

function connectionColumns(connections: readonly FoldedConnection[], events: boolean): unknown[] {
  const names = [connections.map((row) => row.connectionId), connections.map((row) => row.accountId)];
  if (!events) return names;
  return [
    ...names,
    connections.map((row) => row.event?.phoneNumber ?? null),
    connections.map((row) => row.event?.label ?? null),
    connections.map((row) => row.event?.status ?? null),
    connections.map((row) => row.event?.needsReconnect ?? null),
    connections.map((row) => row.event?.licenseStatus ?? null),
    connections.map((row) => row.event?.licenseExpires ?? null),
    connections.map((row) => row.event?.reason ?? null),
    connections.map((row) => row.event?.at ?? null),
    connections.map((row) => (row.event === null ? null : rankConnectionEvent(row.event))),
  ];
}
