import type { PgColumn } from 'drizzle-orm/pg-core';
import { connections } from './account-tables.ts';
import {
  type CHANGE,
  type ConnectionStateFacts,
  MESSAGE_TEXTS,
  type MessageTexts,
  type RawDelivery,
  UNCLAIMED,
} from './facts.ts';
import { type FoldedConnection, type FoldedMessage, rankConnectionEvent } from './fold-facts.ts';
import { inbox } from './inbox-table.ts';
import { column, type InputColumn, other, type ValueOf } from './input-columns.ts';
import { messages } from './message-tables.ts';
import { mayBeOfSend } from './outbox-tables.ts';
import { toStorableText } from './storable-text.ts';

/*
 * The columns of the merge. Name and type come from the schema. Each entry defines the value that a fact gives
 * for the column, and how the row applies it; `merge-statement.ts` generates its parameters, aliases and lists
 * of columns from these entries.
 */

/** How a row applies the reported value of a column. */
export interface Merge {
  /** SQL: the new value, from the row `m` and the reported row `excluded`. */
  readonly value: string;
  /** SQL: whether that is a change, by the bit of `CHANGE` for it. */
  readonly changes: Readonly<Partial<Record<keyof typeof CHANGE, string>>>;
}

/** A delivery for the raw log. */
export interface LoggedDelivery {
  readonly delivery: RawDelivery;
  /** Where its body starts in the bodies of the batch, counted from 1. */
  readonly startsAt: number;
  /** Bits of `CHANGE` for which it may be the cause. */
  readonly credit: number;
}

const connectionOf = ({ message, connection, names }: RawDelivery): string | null =>
  (message ?? connection ?? names)?.connectionId ?? null;

export const DELIVERY_COLUMNS: readonly InputColumn<LoggedDelivery>[] = [
  column(inbox.subscriptionId, ({ delivery }) => delivery.subscriptionId),
  column(inbox.accountId, ({ delivery }) => delivery.accountId),
  column(inbox.receivedAt, ({ delivery }) => delivery.receivedAt),
  column(inbox.signedAt, ({ delivery }) => delivery.signedAt),
  column(inbox.event, ({ delivery }) => toStorableText(delivery.event)),
  column(inbox.connectionId, ({ delivery }) => connectionOf(delivery)),
  column(inbox.messageId, ({ delivery: { message, names } }) => (message ?? names)?.messageId ?? null),
  other('outcome', 'text', ({ delivery }) => delivery.outcome ?? null, true),
  column(inbox.reason, ({ delivery }) => toStorableText(delivery.reason ?? null)),
  column(inbox.secretVersion, ({ delivery }) => delivery.secretVersion ?? null),
  other('starts_at', 'integer', ({ startsAt }) => startsAt),
  other('bytes', 'integer', ({ delivery }) => delivery.body.length),
  other('credit', 'smallint', ({ credit }) => credit),
];

const fills = (name: string): string => `(m.${name} IS NULL AND excluded.${name} IS NOT NULL)`;

/** The first reported value of a field is kept. */
const first = (name: string): Merge => ({
  value: `coalesce(m.${name}, excluded.${name})`,
  changes: { fields: fills(name) },
});

const isNamed = `(excluded.peer IS NOT NULL AND (m.peer IS NULL OR m.peer_named))`;
/** The first address that the service reports is kept, also if a client of the API had named another one. */
const address = (name: string): Merge => ({
  value: `CASE WHEN ${isNamed} THEN excluded.${name} ELSE m.${name} END`,
  changes: { fields: `(${isNamed} AND m.${name} IS DISTINCT FROM excluded.${name})` },
});

/** Whether a client of the API named the other party; the service has not. */
export const PEER_NAMED: { readonly name: string; readonly merge: Merge } = {
  name: messages.peerNamed.name,
  merge: {
    value: '(m.peer_named AND excluded.peer IS NULL)',
    changes: { bookkeeping: '(m.peer_named AND excluded.peer IS NOT NULL)' },
  },
};

const isPoll = `excluded.first_seen_by = 'poll'`;

/**
 * A service may sign addresses anew for each list, and the old ones expire. A delivery that arrives after the poll may
 * be older. The CRM fetches files by the id of the message, so a renewed address is not reported.
 */
const fileAddress = (name: string): Merge => ({
  value: `CASE WHEN ${isPoll} THEN coalesce(excluded.${name}, m.${name}) ELSE coalesce(m.${name}, excluded.${name}) END`,
  changes: { fields: fills(name), bookkeeping: `(${isPoll} AND m.${name} <> excluded.${name})` },
});

const isClaimed = `(m.account_id LIKE '${UNCLAIMED}%' AND excluded.account_id <> m.account_id)`;
/** Only the account of the connection reports a message. */
const owner = (name: string): Merge => ({
  value: `CASE WHEN ${isClaimed} THEN excluded.${name} ELSE m.${name} END`,
  changes: { fields: isClaimed },
});

/** A poll that could not read the direction assumed it. */
const corrects = `(m.first_seen_by = 'poll' AND NOT m.polled AND excluded.polled)`;
const directionOf = `CASE WHEN ${corrects} THEN excluded.direction ELSE m.direction END`;
const direction = (): Merge => ({
  value: directionOf,
  changes: { fields: `(${corrects} AND m.direction <> excluded.direction)` },
});

/**
 * The status ladder is the order of the enum: sent, delivered, read, failed. Nothing follows `read` or
 * `failed`, and an incoming message has no status. [status.consumer.rank] [status.consumer.never-back]
 */
const rises = `((excluded.status > m.status AND m.status <> 'read')
        OR (m.status IS NULL AND excluded.status IS NOT NULL AND ${directionOf} = 'outgoing'))`;
const status = (): Merge => ({
  value: `CASE WHEN ${rises} THEN excluded.status ELSE m.status END`,
  changes: { status: rises },
});

/**
 * A poll reports the service's own time, if it could read it. Until then, the earliest time of an event is used, or
 * else the one that a poll assumed.
 */
const believedTime = `CASE WHEN m.polled THEN m.created_at
              WHEN excluded.polled THEN excluded.created_at
              WHEN ${isPoll} THEN m.created_at
              ELSE least(m.created_at, excluded.created_at) END`;
const creationTime = (): Merge => ({
  value: believedTime,
  changes: { fields: `m.created_at <> ${believedTime}` },
});

const once = (name: string): Merge => ({
  value: `m.${name} OR excluded.${name}`,
  changes: { bookkeeping: `(excluded.${name} AND NOT m.${name})` },
});

const union = (name: string): Merge => ({
  value: `m.${name} | excluded.${name}`,
  changes: { bookkeeping: `m.${name} | excluded.${name} <> m.${name}` },
});

/** Both `read` and `failed` were reported. */
const conflicts = `(m.status_conflict OR excluded.status_conflict
        OR coalesce((m.status = 'read' AND excluded.status = 'failed')
                 OR (m.status = 'failed' AND excluded.status = 'read'), false))`;
const conflict = (): Merge => ({
  value: conflicts,
  changes: { conflict: `(${conflicts} AND NOT m.status_conflict)` },
});

export interface MessageColumn extends InputColumn<FoldedMessage> {
  /** Absent: the first reported value is kept permanently. */
  readonly merge: Merge | undefined;
}

function ofMessage<Column extends PgColumn>(
  of: Column,
  value: (message: FoldedMessage) => ValueOf<Column>,
  merge?: (name: string) => Merge,
): MessageColumn {
  return { ...column(of, value), merge: merge?.(of.name) };
}

/** An answer is right whatever was assumed. What an earlier version stored has no origin, and stays without. */
const settles = `((excluded.origin = 'connector' AND m.origin IS DISTINCT FROM 'connector')
        OR (excluded.origin = 'elsewhere' AND m.origin = 'unknown'))`;

/**
 * Who sent an outgoing message. `connector`: the answer to a send named it. `elsewhere`: when polling found it, no send
 * without an answer could have made it. Until then `unknown`, which the answer or the end of the send settles. Webhooks
 * leave it unknown, because the receiver must not depend on the table of sends.
 */
export const ORIGIN: {
  readonly name: string;
  /** SQL: the value that a source reports, for the input row `i`. `polled`: a walk reports it. */
  readonly reported: (source: string, polled: boolean) => string;
  readonly merge: Merge;
} = {
  name: messages.origin.name,
  reported: (source, polled) => `CASE WHEN i.direction = 'incoming' THEN NULL
              WHEN ${source} = 'send' THEN 'connector'
              ${polled ? `WHEN ${source} = 'poll' AND NOT ${mayBeOfSend('i')} THEN 'elsewhere'\n              ` : ''}ELSE 'unknown' END`,
  merge: {
    value: `CASE WHEN ${settles} THEN excluded.origin ELSE m.origin END`,
    changes: { fields: settles },
  },
};

/**
 * The service no longer had the file, and a poll brings another address of it. That one is fetched at once, so a file
 * that is gone from it too is not waited for again: services that sign addresses anew would renew it with each poll.
 */
const revives = `(${isPoll} AND m.media_copy ->> 'state' = 'gone' AND m.media_copy -> 'renewed' IS NULL
        AND excluded.media_copy IS NOT NULL AND m.media_url <> excluded.media_url)`;
const revived = `excluded.media_copy || jsonb_build_object('since', excluded.first_seen_at, 'renewed', true)`;

/**
 * The copy of a file. A message whose file becomes known waits for the worker that keeps it, if one does. A text costs
 * nothing, because the table is only read for a file.
 */
export const MEDIA_COPY: { readonly name: string; readonly reported: string; readonly merge: Merge } = {
  name: messages.mediaCopy.name,
  reported: `CASE WHEN i.media_url IS NOT NULL AND EXISTS (SELECT FROM connector.media_keeping)
              THEN '{"state": "pending"}'::jsonb END`,
  merge: {
    value: `CASE WHEN m.media_url IS NULL THEN excluded.media_copy
              WHEN ${revives} THEN ${revived}
              ELSE m.media_copy END`,
    changes: { fields: revives },
  },
};

/** The texts of which not simply the first reported value is kept. */
const TEXT_MERGES: Partial<Record<keyof MessageTexts, (name: string) => Merge>> = {
  peer: address,
  mediaUrl: fileAddress,
};

/** What sources report about a message, and how its row applies it. */
export const MESSAGE_COLUMNS: readonly MessageColumn[] = [
  ofMessage(messages.connectionId, (message) => message.connectionId),
  ofMessage(messages.id, (message) => message.messageId),
  ofMessage(messages.accountId, (message) => message.accountId, owner),
  ofMessage(messages.direction, (message) => message.direction, direction),
  ...MESSAGE_TEXTS.map((name) =>
    ofMessage(messages[name], (message) => message[name], TEXT_MERGES[name] ?? first),
  ),
  ofMessage(messages.status, (message) => message.status, status),
  ofMessage(messages.createdAt, (message) => message.createdAt, creationTime),
  ofMessage(messages.polled, (message) => message.polled, once),
  ofMessage(messages.webhookSeen, (message) => message.webhookSeen, union),
  ofMessage(messages.statusConflict, (message) => message.statusConflict, conflict),
];

export const CONNECTION_COLUMNS: readonly InputColumn<FoldedConnection>[] = [
  column(connections.connectionId, (connection) => connection.connectionId),
  column(connections.accountId, (connection) => connection.accountId),
];

export interface EventColumn extends InputColumn<FoldedConnection> {
  /** SQL: the new value, from the row `c` and the event `excluded`. */
  readonly merged: string;
}

/** The row takes the value of the newest event. */
const asReported = (name: string): string => `excluded.${name}`;
/** The row keeps its value if the event has none. */
const ifReported = (name: string): string => `coalesce(excluded.${name}, c.${name})`;

function ofEvent<Column extends PgColumn>(
  of: Column,
  value: (event: ConnectionStateFacts) => ValueOf<Column>,
  merged: (name: string) => string,
): EventColumn {
  const read = ({ event }: FoldedConnection) => (event === null ? null : value(event));
  return { ...column<FoldedConnection, PgColumn>(of, read), isNullable: true, merged: merged(of.name) };
}

/** What the newest event of a batch reports about its connection. */
export const EVENT_COLUMNS: readonly EventColumn[] = [
  ofEvent(connections.phoneNumber, (event) => event.phoneNumber, ifReported),
  ofEvent(connections.label, (event) => event.label, ifReported),
  ofEvent(connections.status, (event) => event.status, asReported),
  ofEvent(connections.needsReconnect, (event) => event.needsReconnect, asReported),
  ofEvent(connections.licenseStatus, (event) => event.licenseStatus, ifReported),
  ofEvent(connections.licenseExpires, (event) => event.licenseExpires, ifReported),
  ofEvent(connections.reason, (event) => event.reason, asReported),
  ofEvent(connections.lastEventAt, (event) => event.at, asReported),
  ofEvent(connections.lastEventRank, rankConnectionEvent, asReported),
];
