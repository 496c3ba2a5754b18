import type { Queryable } from '../../runtime/database/database.ts';
import type { Batch, BatchResult, DeliveryOutcome, RawDelivery } from './batch.ts';
import { connectionColumns, deliveryColumns, joinBodies, messageColumns } from './batch-columns.ts';
import { CHANGE } from './change-mask.ts';
import type { ConnectionEventFacts, MessageFacts } from './facts.ts';
import { foldConnections } from './fold-connections.ts';
import { foldMessages } from './fold-facts.ts';
import { mergeStatement } from './merge-statement.ts';

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
  const bodies = joinBodies(deliveries);
  const params = [
    ...deliveryColumns(deliveries, deliveryCredits),
    bodies,
    ...messageColumns(messages),
    ...connectionColumns(connections, events),
    batch.now,
    deliveries.length > 0 ? 'webhook' : (messages[0]?.source ?? 'poll'),
    ...(batch.via === undefined ? [] : [batch.via]),
    ...(batch.fence === undefined ? [] : [batch.fence.lease, batch.fence.fence]),
    ...(batch.also?.params ?? []),
  ];
  const [row] = await db.query<ResultRow>(
    mergeStatement({
      events,
      via: batch.via !== undefined,
      fenced: batch.fence !== undefined,
      utf8: typeof bodies === 'string',
      also: batch.also,
    }),
    params,
    options,
  );
  if (row === undefined) throw new Error('the merge statement returned no row');
  return {
    applied: row.applied,
    masks: new Map(Object.entries(row.masks ?? {}).map(([mask, count]) => [Number(mask), count])),
    outcomes: countOutcomes(row.outcomes),
  };
}

interface ResultRow {
  readonly applied: boolean;
  /** One word for each delivery. */
  readonly outcomes: string | null;
  readonly masks: Readonly<Record<string, number>> | null;
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
    if (standing.has(index)) byDelivery[delivery] = CHANGE.created | CHANGE.fields | CHANGE.bookkeeping;
  });
  return byDelivery;
}
