import { afterEach, describe, expect, it } from 'vitest';
import { commitBatch } from '../../../src/connector/db/commit-batch.ts';
import type { MessageStatus } from '../../../src/contract/service/statuses.ts';
import { ofFile } from '../../support/of-file.ts';
import { status as statusEvent } from '../support/event-fixtures.ts';
import { OutboxBench, sentAs } from './outbox-bench.ts';

const bench = ofFile(() => OutboxBench.open());
afterEach(() => bench.stopAll());

/** What comes of one message, in the order in which it comes; `answer` is that of the send itself. */
type Arrival = 'answer' | MessageStatus;

function permutations<T>(items: readonly T[]): T[][] {
  if (items.length === 0) return [[]];
  return items.flatMap((item, index) =>
    permutations(items.filter((_, other) => other !== index)).map((rest) => [item, ...rest]),
  );
}

const RANK: Record<MessageStatus, number> = { sent: 1, delivered: 2, read: 3, failed: 4 };

/** The statuses that are told as changes: those that rise above all before them. */
function rising(order: readonly Arrival[]): MessageStatus[] {
  const told: MessageStatus[] = [];
  for (const arrival of order) {
    const next = arrival === 'answer' ? 'sent' : arrival;
    const last = told.at(-1);
    if (last === undefined || (last !== 'read' && RANK[next] > RANK[last])) told.push(next);
  }
  return told;
}

interface Told {
  readonly type: string;
  readonly status: MessageStatus | null;
}

async function readTold(connectionId: string): Promise<Told[]> {
  return await bench.database.query<Told>(
    `select type, status from connector.changes where connection_id = $1 and message_id is not null
        and type <> 'outbound.updated' order by batch, position`,
    [connectionId],
  );
}

async function readRows(connectionId: string) {
  return await bench.database.query(
    'select id, text, peer, direction, status from connector.messages where connection_id = $1',
    [connectionId],
  );
}

function tell(connectionId: string, reached: MessageStatus) {
  const event = statusEvent(connectionId, `m-${connectionId}`, reached, bench.clock.now() + 10);
  return commitBatch(bench.database, { now: bench.clock.now(), messages: [event] });
}

/** Sends a text; statuses before `answer` arrive while the call is under way, those behind it afterwards. */
async function sendAmong(order: readonly Arrival[]): Promise<string> {
  const connectionId = await bench.addConnection();
  await bench.queueText(connectionId, 'Hello');
  const at = order.indexOf('answer');
  bench.answer = async () => {
    for (const arrival of order.slice(0, at)) if (arrival !== 'answer') await tell(connectionId, arrival);
    return sentAs(`m-${connectionId}`);
  };
  const outbox = bench.process();
  await outbox.start();
  await outbox.settle();
  for (const arrival of order.slice(at + 1)) if (arrival !== 'answer') await tell(connectionId, arrival);
  await outbox.close();
  return connectionId;
}

describe('status events of an own send', () => {
  it('result in one row, the right status and one change per real change, in every order around the answer', async () => {
    const orders = [
      ...permutations<Arrival>(['answer', 'sent', 'delivered', 'read']),
      ...permutations<Arrival>(['answer', 'sent', 'delivered', 'failed']),
      ['delivered', 'delivered', 'answer', 'delivered', 'sent'] satisfies Arrival[],
    ];
    for (const order of orders) {
      const connectionId = await sendAmong(order);
      const [first, ...raised] = rising(order);
      const isFirst = order[0] === 'answer';
      expect(await readRows(connectionId), order.join()).toEqual([
        {
          id: `m-${connectionId}`,
          text: 'Hello',
          peer: '447700900201',
          direction: 'outgoing',
          status: raised.at(-1) ?? first,
        },
      ]);
      const told = await readTold(connectionId);
      expect(told[0], order.join()).toEqual({ type: 'message.created', status: first });
      const statuses = told.filter(({ type }) => type === 'message.status').map(({ status }) => status);
      expect(statuses, order.join()).toEqual(raised);
      const updates = told.filter(({ type }) => type === 'message.updated');
      expect(updates, order.join()).toHaveLength(isFirst ? 0 : 1);
    }
  });

  it('result in the same if they are stored at the same moment as the answer', async () => {
    for (const reached of ['sent', 'delivered', 'read', 'failed'] as const) {
      const connectionId = await bench.addConnection();
      await bench.queueText(connectionId, 'Hello');
      const told = Promise.withResolvers<unknown>();
      bench.answer = () => {
        // Begins before the answer is stored, and ends before, with or after that.
        told.resolve(Promise.all([tell(connectionId, reached), tell(connectionId, reached)]));
        return sentAs(`m-${connectionId}`);
      };
      const outbox = bench.process();
      await outbox.start();
      await Promise.all([outbox.settle(), told.promise]);
      await outbox.close();
      expect(await readRows(connectionId)).toMatchObject([{ text: 'Hello', status: reached }]);
      const changes = await readTold(connectionId);
      expect(changes.filter(({ type }) => type === 'message.created')).toHaveLength(1);
      const statuses = changes.filter(({ type }) => type !== 'message.updated').map(({ status }) => status);
      expect(new Set(statuses).size).toBe(statuses.length);
      expect(statuses.at(-1)).toBe(reached);
    }
  });
});
