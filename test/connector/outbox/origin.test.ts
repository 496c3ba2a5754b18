import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { commitBatch } from '../../../src/connector/db/commit-batch.ts';
import type { MessageFacts } from '../../../src/connector/db/facts.ts';
import { createFeed } from '../../../src/connector/feed/feed.ts';
import { presentChange } from '../../../src/connector/feed/present-change.ts';
import { ofFile } from '../../support/of-file.ts';
import { received, silentLogger, status } from '../support/event-fixtures.ts';
import { lose, OutboxBench, refuse, sentAs } from './outbox-bench.ts';

const bench = ofFile(() => OutboxBench.open());
let connectionId: string;
beforeEach(() => bench.forget());
afterEach(() => bench.stopAll());

/** A new connection sends a text; the call is answered by `answer`. */
async function send(text: string, answer: OutboxBench['answer']): Promise<void> {
  connectionId = await bench.addConnection();
  await bench.queueText(connectionId, text, `send of ${connectionId}`);
  bench.answer = answer;
  const outbox = await bench.running();
  await outbox.settle();
}

/** A poll finds an outgoing message. */
async function poll(id: string, text: string | null, changes: Partial<MessageFacts> = {}): Promise<void> {
  const facts = { direction: 'outgoing', status: 'sent', source: 'poll', webhookSeen: 0, text } as const;
  const now = bench.clock.now();
  const message = received(connectionId, id, { ...facts, peer: null, createdAt: now, ...changes });
  await commitBatch(bench.database, { now, messages: [message], via: 'coverage' });
}

const reference = (): string => `send of ${connectionId}`;

async function stored(): Promise<unknown> {
  const rows = await bench.database.query<{ id: string; origin: string | null; reference: string | null }>(
    'select id, origin, reference from connector.messages where connection_id = $1 order by id',
    [connectionId],
  );
  return Object.fromEntries(rows.map(({ id, origin, reference }) => [id, [origin, reference]]));
}

/** What the changes of a message say of its origin, in order. */
async function told(id: string): Promise<unknown[]> {
  const feed = createFeed({ database: bench.database, clock: bench.clock, logger: silentLogger });
  await feed.settle();
  const { changes } = await feed.pageAfter(0, 100_000);
  await feed.close();
  return changes
    .filter((change) => 'messageId' in change && change.messageId === id)
    .flatMap(({ type, data }) => ('origin' in data ? [[type, data.origin, data.reference]] : []));
}

describe('the origin of a message', () => {
  it('is the connector with the reference of the send, if its answer names the message', async () => {
    const id = 'm-answered';
    await send('Hello', () => sentAs(id));
    expect(await stored()).toEqual({ [id]: ['connector', reference()] });
    expect(await told(id)).toEqual([['message.created', 'connector', reference()]]);
  });

  it('is elsewhere if polling finds it while no send waits for an answer, and none for an incoming message', async () => {
    connectionId = await bench.addConnection();
    await poll('m-phone', 'from the phone');
    await commitBatch(bench.database, {
      now: bench.clock.now(),
      messages: [status(connectionId, 'm-status', 'sent', bench.clock.now()), received(connectionId, 'm-in')],
    });
    expect(await stored()).toEqual({
      'm-phone': ['elsewhere', null],
      'm-status': ['unknown', null],
      'm-in': [null, null],
    });
    await poll('m-status', 'also from the phone');
    expect(await told('m-status')).toEqual([
      ['message.created', 'unknown', null],
      ['message.updated', 'elsewhere', null],
    ]);
  });

  it('is unknown while a send waits for its answer, which settles it for each message', async () => {
    await send('Hello', async () => {
      await poll('m-own', 'Hello');
      await poll('m-same', 'Hello');
      await poll('m-other', 'Something else');
      await poll('m-old', 'Hello', { createdAt: bench.clock.now() - 3_600_000 });
      expect(await stored()).toEqual({
        'm-old': ['elsewhere', null],
        'm-other': ['elsewhere', null],
        'm-own': ['unknown', null],
        'm-same': ['unknown', null],
      });
      return sentAs('m-own');
    });
    expect(await stored()).toMatchObject({
      'm-own': ['connector', reference()],
      'm-same': ['elsewhere', null],
    });
    // That the send began, its outcome, and the origins of the other messages.
    expect(bench.announced).toBe(3);
    expect(await told('m-own')).toEqual([
      ['message.created', 'unknown', null],
      ['message.updated', 'connector', reference()],
    ]);
    expect(await told('m-same')).toEqual([
      ['message.created', 'unknown', null],
      ['message.updated', 'elsewhere', null],
    ]);
  });

  it('is settled by a status of the send that arrives before its answer, and then by the answer', async () => {
    const id = 'm-early';
    await send('Hello', async () => {
      const now = bench.clock.now();
      await commitBatch(bench.database, { now, messages: [status(connectionId, id, 'sent', now)] });
      expect(await stored()).toEqual({ [id]: ['unknown', null] });
      return sentAs(id);
    });
    expect(await stored()).toEqual({ [id]: ['connector', reference()] });
  });

  it('is settled as well by the refusal of the send', async () => {
    await send('Hello', async () => {
      await poll('m-refused', 'Hello');
      return refuse('recipient_not_on_whatsapp', 422);
    });
    expect(await stored()).toEqual({ 'm-refused': ['elsewhere', null] });
  });

  it('stays unknown after a lost answer, for messages of that time', async () => {
    await send('Hello', async () => {
      await poll('m-doubt', 'Hello');
      return lose();
    });
    // It is given up.
    await bench.database.query(
      `update connector.outbound set state = 'unknown' where connection_id = $1 and in_doubt`,
      [connectionId],
    );
    await poll('m-doubt', 'Hello');
    await poll('m-later', 'Hello', { createdAt: bench.clock.now() + 3_600_000 });
    expect(await stored()).toEqual({ 'm-doubt': ['unknown', null], 'm-later': ['elsewhere', null] });
  });

  it('is shown as unknown for an outgoing message that an earlier version stored, also in its changes', () => {
    const row = { seq: 1, type: 'message.created', at: 0, accountId: 'a', connectionId: 'c', messageId: 'm' };
    const nothing = {
      status: null,
      previousStatus: null,
      peer: null,
      text: null,
      mediaUrl: null,
      mediaType: null,
      mediaCopy: null,
    };
    const earlier = {
      errorMessage: null,
      reference: null,
      origin: null,
      historic: null,
      data: null,
      createdAt: 0,
    };
    const shown = (direction: 'incoming' | 'outgoing') =>
      presentChange({
        ...row,
        ...nothing,
        ...earlier,
        type: 'message.created',
        direction,
        firstSeenBy: 'poll',
      }).data;
    expect(shown('outgoing')).toMatchObject({ origin: 'unknown', historic: false });
    expect(shown('incoming')).toMatchObject({ origin: null, historic: false });
  });
});
