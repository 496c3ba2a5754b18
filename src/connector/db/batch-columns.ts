import { isUtf8 } from 'node:buffer';
import type { RawDelivery } from './batch.ts';
import { type FoldedConnection, rankConnectionEvent } from './fold-connections.ts';
import type { FoldedMessage } from './fold-facts.ts';
import { toStorableText } from './storable-text.ts';

/* The parameters of the merge statement: columns in the order of `merge-inputs.ts`. */

/** A column that may be empty: `unnest` fills up with NULL, and reads an array without elements for nothing. */
function sparse<Value>(values: readonly (Value | null)[]): readonly (Value | null)[] {
  return values.every((value) => value === null) ? [] : values;
}

/** Deliveries for `inputDeliveries`: twelve columns and the credits. Their bodies follow as one value. */
export function deliveryColumns(deliveries: readonly RawDelivery[], credits: readonly number[]): unknown[] {
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
    deliveries.map(connectionOf),
    deliveries.map((delivery) => delivery.message?.messageId ?? delivery.names?.messageId ?? null),
    sparse(deliveries.map((delivery) => delivery.outcome ?? null)),
    sparse(deliveries.map((delivery) => toStorableText(delivery.reason ?? null))),
    sparse(deliveries.map((delivery) => delivery.secretVersion ?? null)),
    credits,
  ];
}

function connectionOf({ message, connection, names }: RawDelivery): string | null {
  return (message ?? connection ?? names)?.connectionId ?? null;
}

/** All bodies in a row: text if they are UTF-8 that Postgres takes for text, which has no NUL. */
export function joinBodies(deliveries: readonly RawDelivery[]): string | Buffer {
  const bodies = Buffer.concat(deliveries.map((delivery) => delivery.body));
  return isUtf8(bodies) && !bodies.includes(0) ? bodies.toString('utf8') : bodies;
}

/** Messages for `inputMessages`. */
export function messageColumns(messages: readonly FoldedMessage[]): unknown[] {
  return [
    messages.map((message) => message.connectionId),
    messages.map((message) => message.messageId),
    messages.map((message) => message.accountId),
    messages.map((message) => message.direction),
    sparse(messages.map((message) => message.peer)),
    sparse(messages.map((message) => message.text)),
    sparse(messages.map((message) => message.mediaUrl)),
    sparse(messages.map((message) => message.mediaType)),
    sparse(messages.map((message) => message.status)),
    sparse(messages.map((message) => message.errorMessage)),
    sparse(messages.map((message) => message.waMessageId)),
    messages.map((message) => message.createdAt),
    messages.map((message) => message.polled),
    messages.map((message) => message.webhookSeen),
    messages.map((message) => message.statusConflict),
  ];
}

/** Connections for `inputConnections`, with the columns of their events if there are any. */
export function connectionColumns(connections: readonly FoldedConnection[], events: boolean): unknown[] {
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
