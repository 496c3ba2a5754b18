import { compareKeys } from './compare-keys.ts';
import type { ConnectionEventFacts } from './facts.ts';
import type { FoldedMessage } from './fold-facts.ts';
import { toStorableText } from './storable-text.ts';

/** A connection that a batch names, with the newest event that tells of it, if any. */
export interface FoldedConnection {
  readonly connectionId: string;
  readonly accountId: string;
  readonly event: ConnectionEventFacts | null;
}

/** One row for each connection and account, ordered by key, and the indexes of the events that stand. */
export interface FoldedConnections {
  readonly connections: readonly FoldedConnection[];
  readonly standing: ReadonlySet<number>;
}

/** Rank among events of the same millisecond: an outage ends after it began. */
export function rankConnectionEvent(event: ConnectionEventFacts): number {
  return event.event === 'connection.connected' ? 1 : 0;
}

/** Folds the connections that messages and events name: of several events the newest stands. Pure. */
export function foldConnections(
  messages: readonly FoldedMessage[],
  events: readonly ConnectionEventFacts[],
): FoldedConnections {
  const rows = new Map<string, { connection: FoldedConnection; index: number | undefined }>();
  for (const { connectionId, accountId } of messages) {
    rows.set(`${connectionId}\n${accountId}`, {
      connection: { connectionId, accountId, event: null },
      index: undefined,
    });
  }
  events.forEach((event, index) => {
    const { connectionId, accountId } = event;
    const key = `${connectionId}\n${accountId}`;
    const standing = rows.get(key)?.connection.event;
    if (standing !== undefined && standing !== null && !isNewer(event, standing)) return;
    rows.set(key, { connection: { connectionId, accountId, event: cleanEvent(event) }, index });
  });
  const kept = [...rows.values()];
  return {
    connections: kept.map((row) => row.connection).sort(byKey),
    standing: new Set(kept.flatMap((row) => (row.index === undefined ? [] : [row.index]))),
  };
}

// [delivery.order]
function isNewer(event: ConnectionEventFacts, standing: ConnectionEventFacts): boolean {
  if (event.at !== standing.at) return event.at > standing.at;
  return rankConnectionEvent(event) > rankConnectionEvent(standing);
}

function cleanEvent(event: ConnectionEventFacts): ConnectionEventFacts {
  return {
    ...event,
    phoneNumber: toStorableText(event.phoneNumber),
    label: toStorableText(event.label),
    status: toStorableText(event.status),
    licenseStatus: toStorableText(event.licenseStatus),
    reason: toStorableText(event.reason),
  };
}

function byKey(a: FoldedConnection, b: FoldedConnection): number {
  return compareKeys(a.connectionId, b.connectionId) || compareKeys(a.accountId, b.accountId);
}
