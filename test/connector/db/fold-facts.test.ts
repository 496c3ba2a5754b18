import { describe, expect, it } from 'vitest';
import { CHANGE, WEBHOOK_SEEN } from '../../../src/connector/db/facts.ts';
import { foldConnections, foldMessages } from '../../../src/connector/db/fold-facts.ts';
import { toStorableText } from '../../../src/connector/db/storable-text.ts';
import { outage, polled, received, recovery, status, T0 } from '../support/event-fixtures.ts';

const { created, fields, bookkeeping, conflict } = CHANGE;
const CREATED = created | fields | bookkeeping;

describe('folding the facts of a batch about messages', () => {
  it('returns one row for each message and account, ordered by key', () => {
    const { messages } = foldMessages([
      received('b', '1'),
      received('a', '2'),
      received('B', '1'),
      received('a', '1', { accountId: 'account-2' }),
      received('a', '1'),
      received('a', '2'),
    ]);
    expect(messages.map((row) => [row.connectionId, row.messageId, row.accountId])).toEqual([
      ['B', '1', 'account-1'],
      ['a', '1', 'account-1'],
      ['a', '1', 'account-2'],
      ['a', '2', 'account-1'],
      ['b', '1', 'account-1'],
    ]);
  });

  it('keeps the first value of each field, and credits its source', () => {
    const { messages, credits } = foldMessages([
      received('c', 'm', { text: null, mediaUrl: null }),
      received('c', 'm', { text: 'first' }),
      received('c', 'm', { text: 'second' }),
    ]);
    expect(messages).toMatchObject([{ text: 'first', peer: '15551234567' }]);
    expect(credits).toEqual([CREATED, fields, 0]);
  });

  it('orders statuses by time, not by arrival, and credits the one that is applied', () => {
    const { messages, credits } = foldMessages([
      status('c', 'm', 'read', T0 + 3),
      status('c', 'm', 'sent', T0 + 1),
      status('c', 'm', 'delivered', T0 + 2),
    ]);
    expect(messages).toMatchObject([
      {
        status: 'read',
        createdAt: T0 + 1,
        webhookSeen: WEBHOOK_SEEN.sent | WEBHOOK_SEEN.delivered | WEBHOOK_SEEN.read,
        statusConflict: false,
      },
    ]);
    expect(credits).toEqual([CREATED | CHANGE.status | conflict, fields | bookkeeping, bookkeeping]);
  });

  it('uses the creation time of a poll, or else the earliest one', () => {
    const at = (createdAt: number) => ({ createdAt });
    const fold = (...facts: Parameters<typeof foldMessages>[0][number][]) => foldMessages(facts).messages[0];
    expect(fold(received('c', 'm', at(5)), received('c', 'm', at(3)))).toMatchObject({
      createdAt: 3,
      polled: false,
    });
    expect(fold(received('c', 'm', at(5)), polled('c', 'm', at(9)))).toMatchObject({
      createdAt: 9,
      polled: true,
    });
    expect(fold(polled('c', 'm', at(9)), received('c', 'm', at(5)))).toMatchObject({
      createdAt: 9,
      polled: true,
    });
    expect(fold(received('c', 'm', at(5)), polled('c', 'm', { ...at(3), certain: false }))).toMatchObject({
      createdAt: 5,
      polled: false,
    });
  });
});

describe('folding the facts of a batch about connections', () => {
  const told = (...events: Parameters<typeof outage>[]) => events.map((entry) => outage(...entry));

  it('returns each connection of the messages once, without an event', () => {
    const { messages } = foldMessages([received('b', '1'), received('b', '2'), received('a', '3')]);
    expect(foldConnections(messages, []).connections).toEqual([
      { connectionId: 'a', accountId: 'account-1', event: null },
      { connectionId: 'b', accountId: 'account-1', event: null },
    ]);
  });

  it('applies the newest event, the first of two copies, and a recovery before an outage of the same time', () => {
    const copies = foldConnections([], told(['c', T0], ['c', T0]));
    expect([...copies.standing]).toEqual([0]);
    const newest = foldConnections([], [recovery('c', T0 + 2), outage('c', T0 + 1), outage('d', T0 + 1)]);
    expect([...newest.standing]).toEqual([0, 2]);
    const equal = foldConnections([], [outage('c', T0), recovery('c', T0), outage('c', T0)]);
    expect([...equal.standing]).toEqual([1]);
    expect(equal.connections).toMatchObject([{ event: { event: 'connection.connected' } }]);
  });
});

describe('text for Postgres', () => {
  it.each([
    [null, null],
    ['', ''],
    ['plain 👋', 'plain 👋'],
    ['\0', '\ufffd'],
    ['a\0\0b', 'a\ufffd\ufffdb'],
    ['\ud83d', '\ufffd'],
    ['\udc4b\ud83d', '\ufffd\ufffd'],
  ])('converts %j to %j', (text, stored) => {
    expect(toStorableText(text)).toBe(stored);
  });
});
