import type { TraceEntry } from '../../contract/connector/trace.ts';
import { toIso } from '../../runtime/clock/iso-time.ts';
import { CHANGE } from '../db/facts.ts';
import { type DeliveryFacts, describeEffect, explainDelivery, REPORTERS } from './explain-delivery.ts';
import type { KeptDelivery } from './read-deliveries.ts';
import type { MessageChangeRow, SendChangeRow } from './trace-rows.ts';

/* Builds the entries of a trace from what is stored. */

const NOTHING = {
  event: null,
  status: null,
  changed: [],
  reason: null,
  seqs: [],
  walk: null,
  delivery: null,
  send: null,
} as const satisfies Partial<TraceEntry>;

/** A delivery, and what it changed or why it changed nothing. */
export function presentDelivery(delivery: KeptDelivery, facts: DeliveryFacts): TraceEntry {
  const { changes, duplicate } = facts;
  const { connectionId, receivedAt, signedAt, changeMask, changeBatch } = delivery;
  return {
    ...NOTHING,
    at: toIso(receivedAt),
    source: 'webhook',
    connectionId,
    event: delivery.event,
    status: delivery.status,
    outcome: delivery.outcome,
    changed: listChanged(changeMask),
    ...explainDelivery(delivery, facts),
    seqs: changeBatch === null ? [] : listSeqs(changes.filter(({ batch }) => batch === changeBatch)),
    delivery: {
      subscriptionId: delivery.subscriptionId,
      accountId: delivery.accountId,
      signedAt: toIso(signedAt),
      skewMs: receivedAt - signedAt,
      secretVersion: delivery.secretVersion,
      duplicate,
    },
  };
}

/** The bits of `CHANGE` of the changes that one statement made. */
function maskOf(changes: readonly MessageChangeRow[]): number {
  const bits = {
    'message.created': CHANGE.created,
    'message.status': CHANGE.status,
    'message.updated': CHANGE.fields,
  };
  return changes.reduce((mask, { type, status }) => {
    const withStatus = type === 'message.created' && status !== null ? CHANGE.status : 0;
    return mask | bits[type] | withStatus;
  }, 0);
}

/** What a statement changed without a delivery. `changes` are those of one batch, `first` is the first of them. */
export function presentChanges(changes: readonly MessageChangeRow[], first: MessageChangeRow): TraceEntry {
  const changeMask = maskOf(changes);
  const effect = describeEffect({ changeMask, changeBatch: first.batch }, changes);
  const news = first.source === 'poll' && (changeMask & CHANGE.created) !== 0;
  const unreported = news ? '; nothing had reported it before' : '';
  return {
    ...NOTHING,
    at: toIso(first.at),
    source: first.via === 'replay' ? 'replay' : first.source,
    connectionId: first.connectionId,
    status: changes.find(({ type }) => type !== 'message.updated')?.status ?? null,
    outcome: 'merged',
    changed: listChanged(changeMask),
    explanation: `${describeSource(first)} ${effect}${unreported}.`,
    seqs: listSeqs(changes),
    walk: first.source === 'poll' ? first.via : null,
  };
}

function describeSource({ source, via }: MessageChangeRow): string {
  if (via === 'replay') return 'A replay of the retained deliveries';
  if (source !== 'poll') return REPORTERS[source];
  if (via === 'coverage') return 'A poll that read the newest messages';
  if (via === 'visibility') return 'A poll that read what a hidden connection had missed';
  const age = via?.startsWith('sweep:') ? via.slice('sweep:'.length) : null;
  if (age === 'full') return 'A poll that read all open statuses again';
  return age === null ? REPORTERS.poll : `A poll that read the open statuses of the last ${age} again`;
}

/** The state of a send after one of its changes. */
export function presentSend(row: SendChangeRow): TraceEntry {
  return {
    ...NOTHING,
    at: toIso(row.at),
    source: 'send',
    connectionId: row.connectionId,
    outcome: row.state,
    explanation: describeSend(row),
    seqs: row.seq === null ? [] : [row.seq],
    send: {
      outboundId: row.outboundId,
      reference: row.reference,
      attempts: row.attempts,
      errorCode: row.errorCode,
      idempotencyKey: row.idempotencyKey,
    },
  };
}

function describeSend({ state, attempts, errorCode, nextAttemptAt, reference }: SendChangeRow): string {
  const failed = errorCode === null ? '' : ` (${errorCode})`;
  switch (state) {
    case 'queued':
      if (attempts === 0) return `The CRM queued it with the reference ${reference ?? ''}.`;
      return `Attempt ${attempts} failed${failed}; the next attempt is due ${nextAttemptAt === null ? 'soon' : `at ${toIso(nextAttemptAt)}`}.`;
    case 'sending':
      return `Attempt ${attempts} started.`;
    case 'sent':
      return `The service accepted it in attempt ${attempts}.`;
    case 'rejected':
      return `The service refused it${failed}; it was not sent.`;
    case 'unknown':
      return `It may have been sent; the answer was lost${failed}. Only an operator can retry it.`;
    case 'delivered_not_stored':
      return 'The service delivered it, but did not store it.';
    case 'cancelled':
      return 'The CRM cancelled it while it was queued.';
    default:
      return `It is ${state}.`;
  }
}

/** A new message also has new fields; only its creation is listed. */
function listChanged(mask: number): TraceEntry['changed'] {
  if (mask & CHANGE.created) return mask & CHANGE.status ? ['created', 'status'] : ['created'];
  return (['created', 'status', 'fields'] as const).filter((what) => (mask & CHANGE[what]) !== 0);
}

function listSeqs(changes: readonly MessageChangeRow[]): number[] {
  return changes.flatMap(({ seq }) => (seq === null ? [] : [seq]));
}
