import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { deleteErasedDeliveries } from '../../../src/connector/db/erase-messages.ts';
import type { ChangeList, DeadLetterList } from '../../../src/contract/connector/changes.ts';
import type { ErasedPerson } from '../../../src/contract/connector/messages.ts';
import { systemClock } from '../../../src/runtime/clock/system-clock.ts';
import { openDatabase } from '../../../src/runtime/database/database.ts';
import { changeDatabase, dumpDatabase } from '../../support/dump-stores.ts';
import { startTestLoop } from '../../support/loop.ts';
import { ofFile } from '../../support/of-file.ts';
import { silentLogger } from '../support/event-fixtures.ts';

/** Two spellings of one person, and a landline of somebody else. */
const OLD = '551187654321';
const NEW = '5511987654321';
const OTHER = '551133334444';
/** Has no account on the network. */
const UNREACHABLE = '447700900999';
/** In every text, file name and reference of the person. */
const MARK = 'canary-of-erasure';

const running = ofFile(() =>
  startTestLoop({
    handlers: {
      attempts: 1,
      onChange(change) {
        if (change.type === 'message.created' && change.data.text?.includes('fails'))
          throw new Error(`cannot store ${change.data.text} of ${change.data.peer}`);
        if (change.type === 'outbound.updated' && change.data.state === 'rejected')
          throw new Error(`cannot store ${change.data.text} to ${change.data.to}`);
      },
    },
  }),
);
let connectionId: string;
let snapshotId: string;

beforeAll(async () => {
  connectionId = await running.client.qrConnection();
  await running.connector('POST', '/v1/sync', {});
  ({ id: snapshotId } = await running.sandbox<{ id: string }>('POST', '/snapshots', {}));
});

const erase = (phone: string) => running.connector<ErasedPerson>('DELETE', `/v1/people/${phone}`);

async function write(phone: string, text: string): Promise<string> {
  const body = { connectionId, text };
  const { messageId } = await running.sandbox<{ messageId: string }>(
    'POST',
    `/contacts/${phone}/messages`,
    body,
  );
  return messageId;
}

async function send(phone: string, text: string | null, media?: object): Promise<string> {
  const body = {
    connectionId,
    to: phone,
    text: text ?? undefined,
    media,
    reference: `${MARK}-${randomUUID()}`,
  };
  return (await running.connector<{ outboundId: string }>('POST', '/v1/messages', body)).outboundId;
}

/** What the tables of the connector contain. */
async function dump(): Promise<string> {
  const tables = (await dumpDatabase(running.databaseUrl)).split('\n== ');
  const own = tables.filter((text) => text.startsWith('connector.'));
  expect(own.length).toBeGreaterThan(20);
  return own.join('\n');
}

const TRACES = [OLD, NEW, MARK];
const found = async (): Promise<string[]> => {
  const text = await dump();
  return TRACES.filter((trace) => text.includes(trace));
};

async function changes() {
  return (await running.connector<ChangeList>('GET', '/v1/changes?after=0&limit=500')).changes;
}

describe('erasing a person', () => {
  it('leaves neither number nor text in any table, brings nothing back, and keeps everybody else', async () => {
    const ids = [await write(OLD, `${MARK} one`), await write(NEW, `${MARK} fails`)];
    const kept = await write(OTHER, 'of somebody else');
    const sent = await send(NEW, `${MARK} answer`);
    const file = { filename: `${MARK}.txt`, mimetype: 'text/plain', data: 'aGk=', caption: `${MARK} file` };
    const sentFile = await send(NEW, null, file);
    await running.loop.settle();
    await running.connector('POST', '/v1/sync', {});
    await running.loop.settle();
    const { deadLetters } = await running.connector<DeadLetterList>('GET', '/v1/dead-letters');
    expect(deadLetters.map(({ lastError }) => lastError)).toEqual([expect.stringContaining(MARK)]);
    // Deliveries that became no message.
    await changeDatabase(
      running.databaseUrl,
      `INSERT INTO connector.inbox (received_at, id, subscription_id, account_id, signed_at, body, outcome, change_mask)
       SELECT received_at, id + 1000 + n, subscription_id, account_id, signed_at, convert_to('{"from":"${OLD}"}', 'UTF8'), outcome, 0
         FROM (SELECT received_at, id, subscription_id, account_id, signed_at FROM connector.inbox LIMIT 1) known,
              unnest(ARRAY['invalid', 'unmergeable', 'unknown_event', 'foreign']) WITH ORDINALITY AS o (outcome, n)`,
    );
    // The same changes wait for another consumer, and one of somebody else does.
    await changeDatabase(
      running.databaseUrl,
      `INSERT INTO connector.consumers (name, kind, state, created_at) VALUES ('crm', 'http', 'paused', 0);
       INSERT INTO connector.parked (consumer, key, partition, connection_id, seq, due_at, attempts, last_error, since)
       SELECT 'crm', seq::text, 0, connection_id, seq, 0, 1, last_error, 0 FROM connector.dead_letters
        UNION ALL SELECT 'crm', 'first', 0, 'first', 1, 0, 1, 'not erased', 0`,
    );
    expect(await found()).toEqual(TRACES);

    expect(await erase(OLD)).toEqual({ messages: 4, sends: 2 });

    expect(await found()).toEqual([]);
    expect(await dump()).toContain('not erased');
    await running.connector('POST', '/v1/sync', {});
    await running.loop.settle();
    expect(await found()).toEqual([]);
    for (const id of ids) {
      await expect(running.connector('GET', `/v1/messages/${id}`)).rejects.toThrow('answered 404');
      await expect(running.connector('GET', `/v1/messages/${id}/trace`)).rejects.toThrow('answered 404');
    }
    await expect(running.connector('GET', `/v1/outbound/${sent}`)).rejects.toThrow('answered 404');
    const { messages } = await running.connector<{ messages: { id: string; text: string }[] }>(
      'GET',
      '/v1/messages',
    );
    expect(messages.map(({ id, text }) => [id, text])).toEqual([[kept, 'of somebody else']]);

    const told = (await changes()).filter(({ type }) => type === 'person.erased');
    expect(told).toEqual([expect.objectContaining({ connectionId })]);
    const erasedIds = told.flatMap(({ data }) => ('messageIds' in data ? data.messageIds : []));
    expect(erasedIds).toHaveLength(4);
    expect(erasedIds).toEqual(expect.arrayContaining(ids));
    const outboundIds = told.flatMap(({ data }) => ('outboundIds' in data ? data.outboundIds : []));
    expect(outboundIds.toSorted()).toEqual([sent, sentFile].sort());
    const created = (await changes()).find((change) => 'messageId' in change && change.messageId === ids[0]);
    expect(created).toMatchObject({
      type: 'message.created',
      data: { peer: null, text: null, personKey: null },
    });
    expect(await erase(NEW)).toEqual({ messages: 0, sends: 0 });
  });

  it('of whom only sends are known tells their ids, and replaces the errors about them', async () => {
    await running.sandbox('PUT', `/contacts/${UNREACHABLE}`, { onNetwork: false });
    const id = await send(UNREACHABLE, 'never sent');
    await running.loop.settle();
    const newestError = async () =>
      (await running.connector<DeadLetterList>('GET', '/v1/dead-letters')).deadLetters[0]?.lastError;
    expect(await newestError()).toContain(`never sent to ${UNREACHABLE}`);
    expect(await erase(UNREACHABLE)).toEqual({ messages: 0, sends: 1 });
    expect(await newestError()).toBe('Erased.');
    await running.loop.settle();
    expect((await changes()).at(-1)).toMatchObject({
      type: 'person.erased',
      data: { messageIds: [], outboundIds: [id] },
    });
  });

  it('does not stop new messages of the person', async () => {
    const id = await write(NEW, 'I am back');
    await running.loop.settle();
    expect(await running.connector('GET', `/v1/messages/${id}`)).toMatchObject({
      peer: NEW,
      text: 'I am back',
    });
  });

  it('also covers copies of deliveries that arrive later, within an hour', async () => {
    const id = await write(OLD, `${MARK} late`);
    await running.loop.settle();
    const { entries } = await running.sandbox<{ entries: { id: string; messageId: string | null }[] }>(
      'GET',
      '/deliveries',
    );
    await erase(OLD);
    const late = entries.find(({ messageId }) => messageId === id) ?? expect.fail('no delivery');
    await running.sandbox('POST', `/deliveries/${late.id}/resend`, {});
    await running.loop.settle();
    expect(await found()).toEqual([OLD, MARK]);
    const options = { url: running.databaseUrl, name: 'test', clock: systemClock, logger: silentLogger };
    const database = openDatabase(options);
    await deleteErasedDeliveries(database, Date.now());
    await database.close();
    expect(await found()).toEqual([]);
  });

  it('is refused while a send to the person is in progress, and for a number that is written in another way', async () => {
    await expect(erase('+5511987654321')).rejects.toThrow('answered 400');
    const id = await send(OTHER, 'slow');
    await running.loop.settle();
    await changeDatabase(
      running.databaseUrl,
      `UPDATE connector.outbound SET state = 'sending' WHERE id = '${id}'`,
    );
    await expect(erase(OTHER)).rejects.toThrow('answered 409');
    await running.sandbox('POST', `/snapshots/${snapshotId}/restore`);
  });
});
