import { isUtf8 } from 'node:buffer';
import { type Database, type Queryable, sqlState } from '../../runtime/database/database.ts';
import {
  CHANGE,
  type ConnectionStateFacts,
  type DeliveryOutcome,
  type MessageFacts,
  type RawDelivery,
} from './facts.ts';
import { foldConnections, foldMessages } from './fold-facts.ts';
import type { LoggedDelivery } from './merge-columns.ts';
import { type Fence, type MergeInput, mergeStatement } from './merge-statement.ts';
import { messagesAre } from './message-periods.ts';

/**
 * Further CTEs of the same statement, each `name AS (…)`, comma-separated. Their parameters are numbered from
 * `$1`. With a fence they must contain `EXISTS (SELECT FROM guard)`. They can read `merged` (`connection_id,
 * id, change_mask, status, previous_status`): the messages that this batch changed.
 */
export interface ExtraCtes {
  readonly ctes: string;
  readonly params: readonly unknown[];
}

export interface Batch {
  /** Epoch ms; the time of all its changes. */
  readonly now: number;
  readonly deliveries?: readonly RawDelivery[];
  /** Facts that are not from deliveries, in any order; they are folded as well. */
  readonly messages?: readonly MessageFacts[];
  readonly fence?: Fence;
  /** The walk or command that is the source of facts without a delivery. Stored with the changes. */
  readonly via?: string;
  readonly also?: ExtraCtes;
}

export interface BatchResult {
  /** False: the lease was lost, and nothing was written. */
  readonly applied: boolean;
  /** The number of messages created or changed, by the bits of `CHANGE`. */
  readonly masks: ReadonlyMap<number, number>;
  readonly outcomes: Readonly<Partial<Record<DeliveryOutcome, number>>>;
}

const UNDEFINED_TABLE = '42P01';

/**
 * Writes a batch in one SQL statement: the raw log, the merged messages and connections, the changes for the
 * CRM. Resolves after the commit. Repeating a batch is safe: the merge changes nothing the second time, and
 * only the raw log contains its deliveries twice.
 *
 * Throws what the database throws; nothing is written then, unless the error has `mayHaveCommitted`.
 */
export async function commitBatch(
  db: Queryable,
  batch: Batch,
  options?: { readonly deadlineMs?: number },
): Promise<BatchResult> {
  const deliveries = batch.deliveries ?? [];
  const collected = collectFacts(deliveries, batch.messages ?? []);
  const { messages, credits } = foldMessages(collected.messages.map((entry) => entry.facts));
  const { connections, standing } = foldConnections(
    messages,
    collected.connections.map((entry) => entry.facts),
  );
  const input: MergeInput = {
    now: batch.now,
    source: deliveries.length > 0 ? 'webhook' : (messages[0]?.source ?? 'poll'),
    deliveries: placeBodies(deliveries, creditDeliveries(deliveries, collected, credits, standing)),
    bodies: joinBodies(deliveries),
    messages,
    connections,
    via: batch.via,
    fence: batch.fence,
    // In a transaction, a refused statement would undo the others.
    divided: messagesAre.divided || !isDatabase(db),
    also: batch.also,
  };
  const row = await run(db, input, options).catch(async (error: unknown) => {
    if (input.divided || sqlState(error) !== UNDEFINED_TABLE) throw error;
    messagesAre.divided = true;
    return await run(db, { ...input, divided: true }, options);
  });
  if (row === undefined) throw new Error('the merge statement returned no row');
  return {
    applied: row.applied,
    masks: new Map(Object.entries(row.masks ?? {}).map(([mask, count]) => [Number(mask), count])),
    outcomes: countOutcomes(row.outcomes),
  };
}

const isDatabase = (db: Partial<Database>): boolean => db.transaction !== undefined;

async function run(
  db: Queryable,
  input: MergeInput,
  options?: { readonly deadlineMs?: number },
): Promise<ResultRow | undefined> {
  const { text, valuesOf } = mergeStatement(input);
  const [row] = await db.query<ResultRow>(text, valuesOf(input), options);
  return row;
}

/** The concatenated bodies: text if they are UTF-8 without NUL, which Postgres accepts as text. */
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

/** A fact with the index of its delivery; -1 if it has none. */
interface Reported<Facts> {
  readonly delivery: number;
  readonly facts: Facts;
}

interface Collected {
  readonly messages: Reported<MessageFacts>[];
  readonly connections: Reported<ConnectionStateFacts>[];
}

function collectFacts(deliveries: readonly RawDelivery[], beside: readonly MessageFacts[]): Collected {
  const messages: Reported<MessageFacts>[] = [];
  const connections: Reported<ConnectionStateFacts>[] = [];
  deliveries.forEach((delivery, index) => {
    if (delivery.outcome !== undefined) return;
    if (delivery.message !== undefined) messages.push({ delivery: index, facts: delivery.message });
    if (delivery.connection !== undefined) connections.push({ delivery: index, facts: delivery.connection });
  });
  for (const facts of beside) messages.push({ delivery: -1, facts });
  return { messages, connections };
}

/** The bits of `CHANGE` for which each delivery may be the cause. */
function creditDeliveries(
  deliveries: readonly RawDelivery[],
  collected: Collected,
  credits: readonly number[],
  standing: ReadonlySet<number>,
): readonly number[] {
  const byDelivery = new Array<number>(deliveries.length).fill(0);
  collected.messages.forEach(({ delivery }, index) => {
    if (delivery >= 0) byDelivery[delivery] = credits[index] ?? 0;
  });
  collected.connections.forEach(({ delivery }, index) => {
    if (standing.has(index)) byDelivery[delivery] = CHANGE.created | CHANGE.fields | CHANGE.bookkeeping;
  });
  return byDelivery;
}
