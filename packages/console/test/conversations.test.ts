import { describe, expect, it } from 'vitest';
import type { ConnectorMessage } from '../../../src/contract/connector/messages.ts';
import { OUTBOUND_STATES } from '../../../src/contract/connector/outbound.ts';
import { nameContact } from '../src/data/numbers.ts';
import {
  conversationId,
  conversationsOf,
  messageOf,
  readConversationId,
} from '../src/screens/inbox/conversations.ts';
import { describeSend } from '../src/ui/describe-send.ts';

const message = (id: string, peer: string | null, second: number): ConnectorMessage => ({
  id,
  connectionId: 'c1',
  direction: 'outgoing',
  peer,
  personKey: peer,
  text: id,
  mediaUrl: null,
  mediaType: null,
  mediaCopy: null,
  status: 'sent',
  errorMessage: null,
  createdAt: `2026-01-01T00:00:0${second}.000Z`,
  firstSeenBy: 'webhook',
  historic: false,
  origin: 'elsewhere',
  reference: null,
  customerRef: 'crm-1',
});

describe('conversations', () => {
  it('show the newest message of each contact and connection, newest first, whatever the order of arrival', () => {
    const found = conversationsOf([
      message('late news of an old one', '1', 1),
      message('b', '2', 3),
      message('c', '1', 4),
      message('d', null, 2),
    ]);
    expect(found.map(({ id, last }) => [id, last.id])).toEqual([
      ['c1~1', 'c'],
      ['c1~2', 'b'],
      ['c1~', 'd'],
    ]);
  });

  it('show a number with a plus sign, and any other address as it is', () => {
    expect(['447', '160958311837878@lid', '+447', 'x@g.us'].map(nameContact)).toEqual([
      '+447',
      '160958311837878@lid',
      '+447',
      'x@g.us',
    ]);
    const id = conversationId({ connectionId: 'c1', peer: '160958311837878@lid' });
    expect(readConversationId(id)).toEqual({ connectionId: 'c1', peer: '160958311837878@lid' });
  });

  it('have ids that can be parsed again', () => {
    expect(readConversationId(conversationId({ connectionId: 'c1', peer: '447' }))).toEqual({
      connectionId: 'c1',
      peer: '447',
    });
    expect(readConversationId('c1~')).toEqual({ connectionId: 'c1', peer: null });
    expect(readConversationId('c1')).toEqual({ connectionId: 'c1', peer: null });
  });

  it('apply the status of a change to a known message, and keep its customer', () => {
    const known = message('m1', '1', 1);
    const head = { seq: 1, at: known.createdAt, accountId: 'a', connectionId: 'c1', messageId: 'm1' };
    const status = {
      ...head,
      type: 'message.status',
      data: { status: 'read', previous: 'sent', historic: false },
    } as const;
    expect(messageOf(status, () => known)).toEqual({ ...known, status: 'read' });
    expect(messageOf(status, () => undefined)).toBeUndefined();
    const { customerRef: _, ...data } = { ...known, text: 'whole' };
    expect(messageOf({ ...head, type: 'message.updated', data }, () => known)).toEqual({
      ...known,
      text: 'whole',
    });
  });
});

describe('the description of a send', () => {
  it('states what is certain in each state, and offers a retry only if nothing, or perhaps nothing, was sent', () => {
    const offers = OUTBOUND_STATES.map((state) => {
      const { canCancel, canRetry } = describeSend({ state, lastError: null });
      return [state, canCancel, canRetry];
    });
    expect(offers).toEqual([
      ['queued', true, false],
      ['sending', false, false],
      ['sent', false, false],
      ['rejected', false, true],
      ['unknown', false, true],
      ['delivered_not_stored', false, false],
      ['cancelled', false, false],
    ]);
  });

  it('advises on the last error while it matters', () => {
    expect(describeSend({ state: 'rejected', lastError: 'license_inactive' })).toMatchObject({
      certain: 'Certain: nothing was sent.',
      remedy: 'The license of the connection has ended. Renew it, then retry.',
    });
    expect(describeSend({ state: 'sent', lastError: 'send_failed' }).remedy).toBe('');
  });
});
