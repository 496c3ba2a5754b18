import { beforeEach, expect, it } from 'vitest';
import { createAnswerLog, readAnswers } from '../../../src/connector/inbox/answer-log.ts';
import { receivedDeliveryList } from '../../../src/contract/connector/received.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { databaseOfFile, newId, silentLogger, T0 } from '../support/event-fixtures.ts';
import { deliver, startReceiver } from '../support/receiver-fixture.ts';

const database = databaseOfFile();
const clock = new ManualClock();

beforeEach(() => database.query('delete from connector.answers'));

const open = () => createAnswerLog({ database, clock, logger: silentLogger });
const note = (refusal: 'wrong_signature' | null, ms = 1) => ({ subscriptionId: 'default', refusal, ms });
async function read(options: { limit?: number; result?: 'accepted' | 'refused' } = {}) {
  const deliveries = await readAnswers(database, { limit: 1_000, ...options });
  expect(receivedDeliveryList.parse({ deliveries })).toEqual({ deliveries });
  return deliveries;
}

it('names the answer to each request, the newest first, and what an accepted one was about', async () => {
  const answers = open();
  const { server, close: stop } = await startReceiver(database, { answers });
  const [connectionId, messageId] = [newId(), newId()];
  const body = JSON.stringify({
    event: 'message.received',
    connection_id: connectionId,
    message: {
      id: messageId,
      wa_id: null,
      from: '15551234567',
      text: 'Hello',
      media_url: null,
      media_type: null,
      timestamp: T0,
    },
  });
  await deliver(server, body);
  await deliver(server, body.replace('message.received', 'message.read'));
  await deliver(server, body, { secret: 'whsec_of_somebody_else' });
  await stop();
  await answers.close();
  expect(await read()).toMatchObject([
    {
      status: 401,
      reason: 'wrong_signature',
      says: 'X-Service-Signature does not match the body and the secret.',
      event: null,
      connectionId: null,
      messageId: null,
    },
    { status: 200, reason: null, says: null, event: 'message.read', connectionId, messageId },
    { status: 200, reason: null, says: null, event: 'message.received', connectionId, messageId },
  ]);
  expect(await read({ result: 'accepted' })).toMatchObject([{ status: 200 }, { status: 200 }]);
  expect(await read({ result: 'refused', limit: 1 })).toMatchObject([{ status: 401 }]);
});

it('says that a sender who hung up got no answer', async () => {
  const answers = open();
  answers.note({ subscriptionId: 'default', refusal: 'aborted', ms: 3 });
  await answers.close();
  expect(await read()).toMatchObject([{ status: null, reason: 'aborted', ms: 3 }]);
});

it('does without what the database does not take', async () => {
  const query = () => Promise.reject(new Error('the database is away'));
  const answers = createAnswerLog({ database: { query }, clock, logger: silentLogger });
  answers.note(note(null));
  await expect(answers.close()).resolves.toBeUndefined();
});

it('keeps a sample under load, and leaves accepted ones in place in a flood of refused ones', async () => {
  const answers = open();
  answers.note(note(null));
  for (let sent = 1; sent <= 10_000; sent += 1) answers.note(note('wrong_signature', sent));
  await answers.close();
  expect((await read({ result: 'refused' })).map(({ ms }) => ms)).toEqual(
    Array.from({ length: 25 }, (_, place) => 10_000 - place),
  );
  for (let round = 0; round < 25; round += 1) {
    const more = open();
    for (let sent = 0; sent < 25; sent += 1) more.note(note('wrong_signature', round));
    await more.close();
  }
  expect(await read({ result: 'accepted' })).toHaveLength(1);
  // The last write comes on top, so the newest 21 rounds are kept.
  const kept = await read({ result: 'refused' });
  expect([kept.length, kept[0]?.ms, kept.at(-1)?.ms]).toEqual([525, 24, 4]);
});
