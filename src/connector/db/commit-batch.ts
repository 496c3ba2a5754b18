import { isUtf8 } from 'node:buffer';
import type { Queryable } from '../../runtime/database/database.ts';
import {
  CHANGE,
  type ConnectionStateFacts,
  type DeliveryOutcome,
  type MessageFacts,
  type RawDelivery,
} from './facts.ts';
import { foldConnections, foldMessages } from './fold-facts.ts';
import type { LoggedDelivery } from './merge-columns.ts';
import { type Fence, mergeStatement } from './merge-statement.ts';

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
  /** Which walk or command brought facts that no delivery told. Kept with the changes that it makes. */
  readonly via?: string;
  readonly also?: ExtraCtes;
}

export interface BatchResult {
  /** False: the fence was lost, and nothing was written. */
  readonly applied: boolean;
  /** How many messages it created or changed, by the bits of `CHANGE`. */
  readonly masks: ReadonlyMap<number, number>;
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
  const input = {
    now: batch.now,
    source: deliveries.length > 0 ? 'webhook' : (messages[0]?.source ?? 'poll'),
    deliveries: placeBodies(deliveries, creditDeliveries(deliveries, told, credits, standing)),
    bodies: joinBodies(deliveries),
    messages,
    connections,
    via: batch.via,
    fence: batch.fence,
    also: batch.also,
  } as const;
  const { text, valuesOf } = mergeStatement(input);
  const [row] = await db.query<ResultRow>(text, valuesOf(input), options);
  if (row === undefined) throw new Error('the merge statement returned no row');
  return {
    applied: row.applied,
    masks: new Map(Object.entries(row.masks ?? {}).map(([mask, count]) => [Number(mask), count])),
    outcomes: countOutcomes(row.outcomes),
  };
}

/** All bodies in a row: text if they are UTF-8 that Postgres takes for text, which has no NUL. */
function joinBodies(deliveries: readonly RawDelivery[]): string | Buffer {
  const bodies = Buffer.concat(deliveries.map((delivery) => delivery.body));
  return isUtf8(bodies) && !bodies.includes(0) ? bodies.toString('utf8') : bodies;
}

function placeBodies(deliveries: readonly RawDelivery[], credits: readonly number[]): LoggedDelivery[] {
  let end = 0;
  return deliveries.map((delivery, index) => {
    const startsAt = end + 1;
    end += delivery.body.length;
    return { delivery, startsAt, credit: credits[index] ?? 0 };
  });
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
  readonly connections: Told<ConnectionStateFacts>[];
}

function collectFacts(deliveries: readonly RawDelivery[], beside: readonly MessageFacts[]): Collected {
  const messages: Told<MessageFacts>[] = [];
  const connections: Told<ConnectionStateFacts>[] = [];
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
