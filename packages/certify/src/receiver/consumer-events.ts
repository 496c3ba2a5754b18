import { randomBytes } from 'node:crypto';
import type { Clock } from '../../../../src/runtime/clock/clock.ts';
import { parseJson } from '../runner/exchange.ts';
import examples from './changes.json' with { type: 'json' };
import { CONTACT, type Events, newId, type Payload } from './events.ts';

/** The id of a request: the key of its only change, or of the last one of its list. */
export function keyOf(body: Uint8Array): string {
  const content = parseJson(Buffer.from(body).toString()) as Payload | undefined;
  const list = content?.['changes'] as readonly Payload[] | undefined;
  return String(content?.['key'] ?? list?.at(-1)?.['key'] ?? '');
}

/** The types of change. */
export const CHANGE_TYPES = Object.keys(examples);

/** These changes in one request, as for a consumer whose `batch` is above 1. */
export function listOf(changes: readonly Payload[], attempt = 1): Payload {
  return { attempt, changes: changes.map(({ key, change }) => ({ key, change })) };
}

/** The connector's requests to an HTTP consumer. Each is about a connection of its own, unless one is given. */
export function createConsumerEvents(clock: Clock, given?: string): Events {
  const feed = randomBytes(6).toString('hex');
  // Higher than in an earlier run: a consumer may ignore lower numbers.
  let seq = clock.now();

  const other: Events['other'] = (type, { messageId, connectionId = given ?? newId(), ...fields } = {}) => {
    seq += 1;
    const example: Payload = { ...examples }[type] ?? {};
    const head = { seq, at: new Date(clock.now()).toISOString(), accountId: 'certify', connectionId, type };
    const message = type.startsWith('message.') ? { messageId: messageId ?? example['id'] ?? newId() } : {};
    const ids =
      type === 'connection.updated' ? { id: connectionId } : 'connectionId' in example && { connectionId };
    const change = { ...head, ...message, data: { ...example, ...ids, ...fields } };
    return { key: `${feed}-${seq}-certify`, attempt: 1, change };
  };

  return {
    other,
    received({ id = newId(), ...fields } = {}) {
      const known = { peer: CONTACT, personKey: CONTACT, firstSeenBy: 'webhook', historic: false };
      return other('message.created', { messageId: id, id, text: 'certify, 你好', ...known, ...fields });
    },
    status: (messageId, status) => other('message.status', { messageId, status }),
    connection: (_, reason = 'AUTH_LOST') => other('connection.updated', { reason }),
  };
}
