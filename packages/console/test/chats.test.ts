import { describe, expect, it } from 'vitest';
import type { StoredMessage } from '../../../src/contract/sandbox/messages.ts';
import { chatsOf, describeContact, unrecorded } from '../src/screens/phone/chats.ts';

const stored = (id: string, peer: string, second: number): StoredMessage => ({
  id,
  workspaceId: 'w1',
  connectionId: 'c1',
  direction: 'outgoing',
  peer,
  text: id,
  mediaType: null,
  filename: null,
  status: 'sent',
  errorMessage: null,
  waMessageId: null,
  createdAt: `2026-01-01T00:00:0${second}.000Z`,
});

describe('a phone', () => {
  it('has a chat for each number, with its newest message', () => {
    const chats = chatsOf(
      [stored('c', '2', 3), stored('b', '1', 2), stored('a', '2', 1)],
      ({ peer }) => peer,
    );
    expect(chats.map(({ other, last }) => [other, last.id])).toEqual([
      ['2', 'c'],
      ['1', 'b'],
    ]);
  });

  it('adds received messages that the service did not record, unless they are older than the list', () => {
    const received = (messageId: string, second: number, connectionId = 'c1') => ({
      messageId,
      connectionId,
      from: '1',
      text: messageId,
      at: `2026-01-01T00:00:0${second}.000Z`,
    });
    const all = [received('old', 1), received('known', 3), received('lost', 4), received('other', 5, 'c2')];
    const shown = [stored('known', '2', 3)];
    expect(unrecorded(all, shown, 'c1', false).map(({ messageId }) => messageId)).toEqual(['lost']);
    expect(unrecorded(all, shown, 'c1', true).map(({ messageId }) => messageId)).toEqual(['old', 'lost']);
  });

  it.each([
    [{ deliverAfterMs: 300, readAfterMs: 1_500 }, 'reads after 1.5 s'],
    [{ deliverAfterMs: 300, readAfterMs: null }, 'never reads'],
    [{ deliverAfterMs: null, readAfterMs: null, failAfterMs: 2_000 }, 'fails after 2 s, receives nothing'],
    [{ deliverAfterMs: 1, readAfterMs: 1_000, autoReply: 'Hi' }, 'reads after 1 s, replies'],
    [{ onNetwork: false }, 'not on the network'],
  ])('with %j, has an owner described as "%s"', (behavior, words) => {
    const silent = { onNetwork: true, deliverAfterMs: 0, readAfterMs: 0, failAfterMs: null, autoReply: null };
    expect(describeContact({ ...silent, ...behavior })).toBe(words);
  });
});
