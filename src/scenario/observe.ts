import type { Change } from '../contract/connector/changes.ts';
import type { ConnectorMessage } from '../contract/connector/messages.ts';
import { MESSAGE_STATUS_RANKS, type MessageStatus } from '../contract/service/statuses.ts';
import { statusOf } from './names.ts';
import type { Observation, ObservedMessage } from './scenario.ts';
import type { ConnectorState, World } from './world.ts';

/** A value that is not what it should be. */
export interface Difference {
  /** What has it, for example `outgoing message 2 to 447700900201 of 447700900101`. */
  readonly of: string;
  readonly field: string;
  readonly expected: string;
  readonly actual: string;
  /** Number of the last cause that concerns it; null if none does. */
  readonly cause: number | null;
}

/** A difference in one line. */
export function describeDifference({ field, expected, actual }: Difference): string {
  return `${field}: expected ${expected}, found ${actual}`;
}

/** A message of the world with what is observed of it. */
interface Seen {
  readonly id: string;
  readonly workspaceId: string;
  readonly connectionId: string;
  readonly observed: ObservedMessage;
}

function nameConnection(world: World, id: string): string {
  const found = world.connections.find((one) => one.id === id);
  return found?.phoneNumber ?? found?.label ?? 'a connection that was deleted';
}

function seeMessages(world: World): Seen[] {
  const counts = new Map<string, number>();
  const deliveries = Map.groupBy(world.deliveries, ({ messageId }) => messageId);
  return world.messages.map(({ id, workspaceId, connectionId, direction, peer, text, status }) => {
    const key = `${connectionId} ${direction} ${peer}`;
    const nth = (counts.get(key) ?? 0) + 1;
    counts.set(key, nth);
    const delivered = (deliveries.get(id) ?? []).map((delivery) => {
      const reported = statusOf(delivery);
      return `${delivery.event}${reported === null ? '' : ` ${reported}`}: ${delivery.outcome}`;
    });
    // Several deliveries may be made at the same moment, in any order.
    delivered.sort();
    const connection = nameConnection(world, connectionId);
    const observed = { connection, direction, peer, nth, text, status, deliveries: delivered };
    return { id, workspaceId, connectionId, observed: { observed: 'message', ...observed } };
  });
}

/** What a scenario keeps of a world: its messages, and the connections that have some or that `concerned` contains. */
export function observe(world: World, concerned: ReadonlySet<string>): Observation[] {
  const messages = seeMessages(world);
  const withMessages = new Set(messages.map(({ connectionId }) => connectionId));
  const connections = world.connections
    .filter(({ id }) => withMessages.has(id) || concerned.has(id))
    .map(({ id, status, licenseStatus, needsReconnect }): Observation => {
      const connection = nameConnection(world, id);
      return { observed: 'connection', connection, status, licenseStatus, needsReconnect };
    });
  return [...messages.map(({ observed }) => observed), ...connections];
}

/** An observed thing in words; the same thing has the same words in each replay. */
export function nameObserved(one: Observation): string {
  if (one.observed === 'connection') return `connection ${one.connection}`;
  const { connection, direction, peer, nth } = one;
  return `${direction} message ${nth} ${direction === 'incoming' ? 'from' : 'to'} ${peer} of ${connection}`;
}

function show(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** How what was observed in a replay differs from what was recorded. */
export function compareObservations(
  recorded: readonly Observation[],
  replayed: readonly Observation[],
  causeOf: (one: Observation) => number | null,
): Difference[] {
  const found = new Map(replayed.map((one) => [nameObserved(one), one]));
  const differences: Difference[] = [];
  for (const one of recorded) {
    const of = nameObserved(one);
    const other = found.get(of);
    found.delete(of);
    const cause = causeOf(one);
    if (other === undefined) {
      differences.push({ of, field: 'existence', expected: 'exists', actual: 'does not exist', cause });
      continue;
    }
    for (const [field, value] of Object.entries(one)) {
      const [expected, actual] = [show(value), show(other[field as keyof Observation])];
      if (expected !== actual) differences.push({ of, field, expected, actual, cause });
    }
  }
  for (const [of, one] of found) {
    const cause = causeOf(one);
    differences.push({ of, field: 'existence', expected: 'does not exist', actual: 'exists', cause });
  }
  return differences;
}

/** The statuses that the feed reports of a message, in order. */
function statusesOf(changes: readonly Change[]): MessageStatus[] {
  return changes.flatMap((change) => {
    if (change.type === 'message.status') return [change.data.status];
    if (change.type === 'message.created' && change.data.status !== null) return [change.data.status];
    return [];
  });
}

function falls(statuses: readonly MessageStatus[]): boolean {
  const rank = (status: MessageStatus | undefined): number =>
    status === undefined ? 0 : status === 'failed' ? 4 : MESSAGE_STATUS_RANKS[status];
  return statuses.some((status, index) => index > 0 && rank(status) <= rank(statuses[index - 1]));
}

/**
 * How the connector differs from the service. Of the workspace of its key it has to have each message of a licensed
 * connection once, with the same text and status, report it as created once, and never report a status that falls.
 */
export function compareConnector(
  world: World,
  { messages, changes }: ConnectorState,
  causeOf: (one: Observation) => number | null,
): Difference[] {
  const licensed = new Set(
    world.connections
      .filter(({ licenseStatus }) => /^(?:active|trial)$/.test(licenseStatus))
      .map(({ id }) => id),
  );
  const stored = new Map<string, ConnectorMessage>(messages.map((message) => [message.id, message]));
  const ofMessage = Map.groupBy(changes, (change) => ('messageId' in change ? change.messageId : undefined));
  const expected = seeMessages(world).filter(
    ({ workspaceId, connectionId }) => workspaceId === world.workspaceId && licensed.has(connectionId),
  );
  return expected.flatMap(({ id, observed }) => {
    const of = `${nameObserved(observed)}, in the connector`;
    const cause = causeOf(observed);
    const differ = (field: string, should: string, is: string): Difference[] =>
      should === is ? [] : [{ of, field, expected: should, actual: is, cause }];
    const found = stored.get(id);
    if (found === undefined) return differ('existence', 'exists', 'does not exist');
    const reported = ofMessage.get(id) ?? [];
    const created = reported.filter(({ type }) => type === 'message.created').length;
    const statuses = statusesOf(reported);
    return [
      ...differ('text', show(observed.text), show(found.text)),
      ...(observed.direction === 'outgoing' ? differ('status', observed.status, show(found.status)) : []),
      ...differ('message.created', 'once', created === 1 ? 'once' : `${created} times`),
      ...(falls(statuses)
        ? differ('reported statuses', 'each higher than the one before', statuses.join(', '))
        : []),
    ];
  });
}
