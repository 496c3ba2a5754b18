import { heldLease } from '../work/lease.ts';
import type { ExtraCtes } from './batch.ts';
import { connectionOwners, movedConnections, RACED } from './merge-connections.ts';
import { inputConnections, inputDeliveries, inputMessages, ParamNumbers } from './merge-inputs.ts';
import { mergedMessages } from './merge-messages.ts';
import { insertedChanges, loggedDeliveries } from './merge-outputs.ts';

/*
 * The merge: one SQL statement for a batch of any size. Parameters are arrays, so one prepared text serves
 * every size. What it promises:
 *
 * - The merge is the dedupe. A second copy of a fact finds the row as it would make it and changes nothing.
 * - A status only rises. Equal to `patterns/message-status`; a test compares both over all pairs.
 * - A change is inserted after the changed row was locked, so the ids of one row's changes rise with them.
 * - Rows are locked in the order of their keys.
 *
 * A data-modifying CTE sees the tables as they were when the statement began. What it changed is therefore
 * read from its RETURNING, and a message row keeps its previous status and what changed for that purpose.
 *
 * A statement costs by the length of its text, whatever its batch holds, so connection events, which are rare,
 * and the fence, which only polls need, are pieces that are left out where they are not needed.
 */

export interface MergeShape {
  /** Connection events are among the facts. */
  readonly events: boolean;
  /** It is kept what brought the facts. */
  readonly via: boolean;
  /** A lease must still be held. */
  readonly fenced: boolean;
  /** The bodies are UTF-8. */
  readonly utf8: boolean;
  readonly also: ExtraCtes | undefined;
}

const texts = new Map<string, string>();
const MOST_TEXTS = 64;

/**
 * The statement's text; the same shape gives the same text, so that it is prepared once. Its parameters are the
 * columns of deliveries and their bodies, of messages and of connections (with those of their events if there
 * are any), then the time, the source, what brought them, lease and fence if it is fenced, and the extra ones.
 */
export function mergeStatement(shape: MergeShape): string {
  const key = `${shape.events} ${shape.via} ${shape.fenced} ${shape.utf8} ${shape.also?.ctes ?? ''}`;
  const known = texts.get(key);
  if (known !== undefined) return known;
  const text = compose(shape);
  if (texts.size < MOST_TEXTS) texts.set(key, text);
  return text;
}

function compose({ events, via, fenced, utf8, also }: MergeShape): string {
  const params = new ParamNumbers();
  const where = fenced ? '\n   WHERE EXISTS (SELECT FROM guard)' : '';
  const inputs = [
    inputDeliveries(params, where, utf8),
    inputMessages(params, where),
    inputConnections(params, where, events),
  ];
  const terms = {
    now: params.take('bigint'),
    source: params.take('text'),
    via: via ? params.take('text') : 'NULL',
    events,
  };
  const ctes = [
    ...(fenced ? [guard(params)] : []),
    ...inputs,
    connectionOwners(terms),
    ...(events ? [movedConnections(terms)] : []),
    mergedMessages(terms),
    insertedChanges(terms),
    loggedDeliveries(terms),
    ...(also === undefined ? [] : [shiftParams(also.ctes, params.next() - 1)]),
  ];
  return `WITH ${ctes.join(',\n')}
SELECT ${fenced ? 'EXISTS (SELECT FROM guard)' : 'true'} AS applied,
       (SELECT string_agg(l.outcome, ' ') FROM logged l) AS outcomes,
       (SELECT json_object_agg(c.change_mask, c.count)
          FROM (SELECT m.change_mask, count(*) FROM merged m GROUP BY m.change_mask) c) AS masks${events ? `,\n       ${RACED} AS raced` : ''}`;
}

function guard(params: ParamNumbers): string {
  return `guard AS (${heldLease(params.take('text'), params.take('bigint'))})`;
}

function shiftParams(text: string, by: number): string {
  return text.replace(/\$(\d+)/g, (_, number: string) => `$${Number(number) + by}`);
}
