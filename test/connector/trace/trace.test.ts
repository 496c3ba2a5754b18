import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { commitBatch } from '../../../src/connector/db/commit-batch.ts';
import { dropInboxPartitions } from '../../../src/connector/db/time-partitions.ts';
import { traceMessage } from '../../../src/connector/trace/trace-message.ts';
import { changeList } from '../../../src/contract/connector/changes.ts';
import { connectorErrorBody } from '../../../src/contract/connector/errors.ts';
import { type MessageTrace, messageTrace, type TraceEntry } from '../../../src/contract/connector/trace.ts';
import { countBuffers } from '../support/count-buffers.ts';
import { delivery, newId, received } from '../support/event-fixtures.ts';
import { ConnectorWorld, type RunningConnector } from '../support/running-connector.ts';

const DAY = 86_400_000;

let world: ConnectorWorld;
let running: RunningConnector;

function withWorld(): void {
  beforeAll(async () => {
    world = await ConnectorWorld.open();
    world.service.addConnection('c1');
    running = await world.start();
    await running.ask('POST', '/v1/sync');
  });
  afterAll(() => world.close());
}

async function trace(id: string, query = ''): Promise<MessageTrace> {
  const answer = await running.ask('GET', `/v1/messages/${id}/trace${query}`);
  expect(answer.status).toBe(200);
  return messageTrace.parse(answer.body);
}

/** A status event that was signed 1.5 s before it arrives. Times rise from event to event. */
async function deliverStatus(id: string, status: string): Promise<void> {
  await world.clock.advance(1_000);
  const message = { id, wa_id: null, status, timestamp: world.clock.now() };
  const event = { event: 'message.status', connection_id: 'c1', message };
  expect((await running.deliver(event, world.secret, world.clock.now() - 1_500)).status).toBe(200);
}

const summary = ({ source, status, outcome, changed, reason, delivery }: TraceEntry) => [
  source,
  status,
  outcome,
  changed.join(' '),
  reason,
  delivery?.duplicate ?? null,
];

describe('the trace of a message', () => {
  withWorld();
  const id = 'm-traced';
  beforeAll(async () => {
    for (const status of ['sent', 'sent', 'read', 'delivered', 'failed', 'read', 'sent']) {
      await deliverStatus(id, status);
    }
    await deliverStatus(id, 'bogus');
    await world.clock.advance(1_000);
    const edited = { event: 'message.edited', connection_id: 'c1', message: { id } };
    await running.deliver(edited, world.secret);
    await world.clock.advance(1_000);
    world.service.addMessage('c1', world.clock.now(), {
      id,
      direction: 'outgoing',
      status: 'read',
      text: 'Hi',
    });
    // A poll that is under way is waited for, on a clock that stands still.
    await running.connector.settle();
    await running.ask('POST', '/v1/sync');
    await deliverStatus(id, 'read');
  });

  it('explains what each delivery changed or why it changed nothing, and contains each poll', async () => {
    const { entries, message, inbox, truncated } = await trace(id);
    expect(entries.map(summary)).toEqual([
      ['webhook', 'sent', 'merged', 'created status', null, 1],
      ['webhook', 'sent', 'unchanged', '', 'already_known', 2],
      ['webhook', 'read', 'merged', 'status', null, 1],
      ['webhook', 'delivered', 'unchanged', '', 'status_not_higher', 1],
      ['webhook', 'failed', 'unchanged', '', 'status_final', 1],
      ['webhook', 'read', 'unchanged', '', 'already_known', 2],
      ['webhook', 'sent', 'unchanged', '', 'already_known', 3],
      ['webhook', null, 'unchanged', '', 'does_not_fit', null],
      ['webhook', null, 'unknown_event', '', 'unknown_event', null],
      ['poll', null, 'merged', 'fields', null, null],
      ['webhook', 'read', 'unchanged', '', 'already_known', 3],
    ]);
    expect(message).toMatchObject({
      connectionId: 'c1',
      status: 'read',
      statusConflict: true,
      firstSeenBy: 'webhook',
    });
    expect(inbox).toMatchObject({ complete: true, note: null });
    expect(truncated).toBe(false);
  });

  it('is written in sentences, with the clock difference, the secret and the walk', async () => {
    const { entries } = await trace(id);
    expect(entries[0]?.delivery).toMatchObject({
      skewMs: 1_500,
      secretVersion: 1,
      subscriptionId: 'default',
    });
    expect(entries.map(({ explanation }) => explanation)).toEqual([
      'Created the message and set the status to sent.',
      'Copy 1 of a delivery that had already reported the status sent.',
      'Advanced the status from sent to read.',
      'The status was already read, which is higher than delivered. A status never moves backwards.',
      'The status was read; failed cannot follow it.',
      'Copy 1 of a delivery that had already reported the status read.',
      'Copy 2 of a delivery that had already reported the status sent.',
      'It reports no status that is known (not readable: message.status).',
      'The connector does not use this event type. The delivery is stored as received.',
      'A poll that read the newest messages added missing fields.',
      'Copy 2 of a delivery that had already reported the status read.',
    ]);
    expect(entries[9]?.walk).toBe('coverage');
  });

  it('explains why the status of an incoming message changes nothing', async () => {
    const incoming = { id: 'm-incoming', from: '15551234567', text: {}, timestamp: world.clock.now() };
    await running.deliver(
      { event: 'message.received', connection_id: 'c1', message: incoming },
      world.secret,
    );
    await deliverStatus('m-incoming', 'read');
    const { entries, message } = await trace('m-incoming');
    expect(message).toMatchObject({ direction: 'incoming', status: null });
    expect(entries.map(({ reason, explanation }) => [reason, explanation])).toEqual([
      [null, 'Created the message (not readable: message.text).'],
      ['status_of_incoming', 'The message is incoming, so it has no status.'],
    ]);
  });

  it('explains that no status follows a failure', async () => {
    for (const status of ['failed', 'delivered']) await deliverStatus('m-failed', status);
    expect((await trace('m-failed')).entries.at(-1)).toMatchObject({
      reason: 'status_final',
      explanation: 'The status was failed, which is final; delivered cannot follow it.',
    });
  });

  it('contains every change of the feed about the message once', async () => {
    const { changes } = changeList.parse((await running.ask('GET', '/v1/changes?limit=1000')).body);
    const told = changes.filter((change) => 'messageId' in change && change.messageId === id);
    const { entries } = await trace(id);
    expect(entries.flatMap(({ seqs }) => seqs)).toEqual(told.map(({ seq }) => seq));
  });

  it('returns 404 for an unknown id', async () => {
    const unknown = await running.ask('GET', '/v1/messages/m-unheard-of/trace');
    expect([unknown.status, connectorErrorBody.parse(unknown.body).error]).toEqual([404, 'not_found']);
  });

  it('contains deliveries that were never merged, if there is no message', async () => {
    await running.deliver(
      { event: 'message.status', connection_id: null, message: { id: 'm-invalid', status: 'sent' } },
      world.secret,
    );
    expect(await trace('m-invalid')).toMatchObject({ message: null, entries: [{ reason: 'does_not_fit' }] });
    const facts = received('c1', 'm-foreign', { accountId: 'account-2' });
    const strange = delivery({ message: facts }, { receivedAt: world.clock.now() });
    await commitBatch(world.database, { now: world.clock.now(), deliveries: [strange] });
    const { message, entries } = await trace('m-foreign');
    expect(message).toBeNull();
    expect(entries.map(summary)).toEqual([['webhook', null, 'foreign', '', 'other_account', 1]]);
    expect(entries[0]?.explanation).toContain('account-2');
  });

  it('credits each delivery of a batch with its own part', async () => {
    const [connection, message] = [newId(), newId()];
    const now = world.clock.now();
    const copy = () => delivery({ message: received(connection, message) }, { receivedAt: now });
    await commitBatch(world.database, { now: now + 5, deliveries: [copy(), copy(), copy()] });
    const { entries } = await trace(message);
    expect(entries.map(summary)).toEqual([
      ['webhook', null, 'merged', 'created', null, 1],
      ['webhook', null, 'unchanged', '', 'already_known', 2],
      ['webhook', null, 'unchanged', '', 'already_known', 3],
    ]);
  });

  it('lists the newest 200 entries of a message with 10,000 copies, at little cost', async () => {
    const [connection, message] = [newId(), newId()];
    const now = world.clock.now();
    const first = delivery({ message: received(connection, message) }, { receivedAt: now });
    await commitBatch(world.database, { now, deliveries: [first] });
    const copy = (from: number, to: number): Promise<unknown> =>
      world.database.query(
        `INSERT INTO connector.inbox (received_at, subscription_id, account_id, signed_at, body, event, connection_id,
                                      message_id, outcome, change_mask)
         SELECT $2::bigint + n, subscription_id, account_id, signed_at, body, event, connection_id, message_id,
                'unchanged', 0
           FROM connector.inbox, generate_series($3::int, $4::int) n WHERE message_id = $1 AND outcome = 'merged'`,
        [message, now, from, to],
      );
    await copy(1, 199);
    const all = await trace(message);
    expect(all).toMatchObject({ truncated: false, entries: { length: 200 } });
    expect(all.entries.map(({ delivery: each }) => each?.duplicate)).toEqual(
      Array.from({ length: 200 }, (_, index) => index + 1),
    );
    await copy(200, 10_000);
    const counting = countBuffers(world.database);
    const newest = await traceMessage(counting, message);
    expect(counting.takeCount()).toBeLessThan(2_000);
    expect(newest).toMatchObject({ truncated: true, entries: { length: 200 } });
    expect(newest?.entries.at(0)).toMatchObject({
      at: new Date(now + 9_801).toISOString(),
      delivery: { duplicate: null },
      explanation: 'Another delivery had already reported the message.',
    });
    expect(newest?.entries.at(-1)?.at).toBe(new Date(now + 10_000).toISOString());
  });
});

describe('the trace of a message whose days were deleted', () => {
  withWorld();

  it('says that they no longer explain the message', async () => {
    await deliverStatus('m-old', 'sent');
    await deliverStatus('m-old', 'read');
    await world.clock.advance(1_000);
    world.service.addMessage('c1', world.clock.now(), { id: 'm-old', direction: 'outgoing', status: 'read' });
    await running.ask('POST', '/v1/sync');
    expect((await trace('m-old')).entries).toHaveLength(3);
    await dropInboxPartitions(world.database, world.clock.now() + DAY);
    // Late copies, which the statuses before explain although what brought them is gone.
    world.clock.jump(DAY);
    await deliverStatus('m-old', 'read');
    await deliverStatus('m-old', 'delivered');
    const { entries, inbox } = await trace('m-old');
    expect(entries.map(summary)).toEqual([
      ['poll', null, 'merged', 'fields', null, null],
      ['webhook', 'read', 'unchanged', '', 'already_known', 1],
      ['webhook', 'delivered', 'unchanged', '', 'status_not_higher', 1],
    ]);
    expect(inbox).toMatchObject({ keptSince: '2026-01-16T00:00:00.000Z', complete: false });
    expect(inbox.note).toContain('Deliveries from before, and what they changed, are not listed here.');
  });
});
