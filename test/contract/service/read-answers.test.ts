import { describe, expect, it } from 'vitest';
import { ZodError } from 'zod';
import { connectionListItem } from '../../../src/contract/service/connections.ts';
import { message } from '../../../src/contract/service/messages.ts';
import {
  readAccount,
  readConnectionDetail,
  readConnectionList,
  readMessagePage,
  readSecret,
  readSend,
  readWebhook,
} from '../../../src/contract/service/read-answers.ts';
import { proves } from '../../support/proves.ts';
import { listed, stored } from './samples.ts';

const item = { ...listed, phone: listed.phoneNumber, name: listed.label };

/** As it is read. */
const read = { ...stored, createdAt: 1_763_700_000_000 };

describe('a list of connections', () => {
  it('is read without the aliases', () => {
    expect(connectionListItem.safeParse(item).success).toBe(true);
    const read = { ...listed, licenseExpires: Date.UTC(2026, 0, 1) };
    expect(readConnectionList({ connections: [item] })).toEqual({ items: [read], invalid: [], unread: [] });
  });

  it('tolerates new values, missing fields and fields of another type', () => {
    proves('versioning.client.unknown-fields');
    const odd = {
      id: 'c2',
      status: 'hibernating',
      provider: 'carrier_pigeon',
      licenseExpires: 'soon',
      tier: 7,
    };
    expect(readConnectionList({ connections: [odd], total: 1 }).items).toEqual([
      {
        id: 'c2',
        phoneNumber: null,
        label: null,
        status: 'hibernating',
        isDefault: null,
        provider: 'carrier_pigeon',
        tier: null,
        profilePicUrl: null,
        licenseValid: null,
        licenseStatus: null,
        licenseExpires: null,
      },
    ]);
  });

  it('keeps the other records if one has no usable id', () => {
    const { items, invalid } = readConnectionList({
      connections: [item, { label: 'x' }, { ...item, id: 'c3' }],
    });
    expect(items.map(({ id }) => id)).toEqual(['c1', 'c3']);
    expect(invalid).toHaveLength(1);
    expect(invalid[0]).toMatch(/^1\./);
  });

  it('is an error if there is no list', () => {
    for (const value of [null, {}, { connections: {} }, '<html>']) {
      expect(() => readConnectionList(value)).toThrow(ZodError);
    }
  });
});

describe('a page of messages', () => {
  it('is read as written', () => {
    expect(message.safeParse(stored).success).toBe(true);
    expect(readMessagePage({ messages: [stored], nextCursor: 'k2', hasMore: true })).toEqual({
      items: [read],
      invalid: [],
      unread: [],
      nextCursor: 'k2',
      hasMore: true,
    });
  });

  it('is the last one without a cursor, whatever hasMore says', () => {
    expect(readMessagePage({ messages: [], nextCursor: null, hasMore: true }).hasMore).toBe(false);
    expect(readMessagePage({ messages: [] })).toEqual({
      items: [],
      invalid: [],
      unread: [],
      nextCursor: null,
      hasMore: false,
    });
  });

  it('has more if it names a cursor and does not deny it', () => {
    expect(readMessagePage({ messages: [], nextCursor: 'k2' }).hasMore).toBe(true);
    expect(readMessagePage({ messages: [], nextCursor: 'k2', hasMore: false }).hasMore).toBe(false);
  });

  it.each([
    [undefined, null, false],
    [null, null, false],
    ['', null, false],
    [false, null, false],
    [7, '7', true],
    // It cannot be followed, but it is not the end either.
    [{ page: 2 }, null, true],
    [['k2'], null, true],
    [true, null, true],
  ])('reads the cursor %j', (nextCursor, cursor, hasMore) => {
    expect(readMessagePage({ messages: [], nextCursor })).toMatchObject({ nextCursor: cursor, hasMore });
  });

  it.each([null, '', 'yes', 1, {}])('has more if it names a cursor, with %j for hasMore', (hasMore) => {
    expect(readMessagePage({ messages: [], nextCursor: 'k2', hasMore }).hasMore).toBe(true);
  });

  it('keeps a message with only its ids', () => {
    const { id, connectionId } = stored;
    expect(readMessagePage({ messages: [{ id, connectionId, status: 'received' }] }).items).toEqual([
      { ...read, direction: null, status: 'received', text: null, createdAt: null },
    ]);
  });

  it('names the fields that could not be read', () => {
    const page = readMessagePage({ messages: [{ ...stored, text: {}, createdAt: 'today' }] });
    expect(page.unread).toEqual(['text', 'createdAt']);
  });

  it.each([
    ['outgoing', 'outgoing'],
    ['Incoming', 'incoming'],
    ['INBOUND', 'incoming'],
    ['outbound', 'outgoing'],
    ['sideways', null],
    ['constructor', null],
  ])('reads the direction %s', (direction, expected) => {
    expect(readMessagePage({ messages: [{ ...stored, direction }] }).items[0]?.direction).toBe(expected);
  });

  it.each(['id', 'connectionId'])('sets a message without %s aside', (field) => {
    const page = readMessagePage({ messages: [{ ...stored, [field]: undefined }, stored] });
    expect(page.items).toEqual([read]);
    expect(page.invalid).toHaveLength(1);
  });

  it('sets a message aside whose id cannot be stored', () => {
    expect(readMessagePage({ messages: [{ ...stored, id: 'm\u0000' }] }).items).toEqual([]);
  });
});

describe('the other answers', () => {
  it('reads a detail with and without a picture', () => {
    expect(readConnectionDetail({ connection: { id: 'c1', status: 'connecting', qr: 'data:,' } }).qr).toBe(
      'data:,',
    );
    expect(readConnectionDetail({ connection: { id: 'c1', status: 'connected' } }).qr).toBeNull();
    expect(() => readConnectionDetail({ connection: {} })).toThrow(ZodError);
  });

  it('reads a send, and recognizes delivered but not stored', () => {
    proves('messages.send.wa-null', 'messages.item.waMessageId');
    expect(readSend({ messageId: 'm1', waMessageId: null, status: 'sent' })).toEqual({
      messageId: 'm1',
      waMessageId: null,
      status: 'sent',
      persisted: true,
    });
    expect(readSend({ messageId: null, waMessageId: 'w', status: 'sent', persisted: false })).toMatchObject({
      messageId: null,
      persisted: false,
    });
    expect(readSend({ messageId: null, waMessageId: 'w', status: 'sent' }).persisted).toBe(false);
    expect(readSend({ messageId: 'm1', wa_message_id: 'w', status: 'sent' }).waMessageId).toBe('w');
    expect(() => readSend({ status: 'sent' })).toThrow(ZodError);
  });

  it('reads the webhook before and after it is set', () => {
    expect(readWebhook({ url: null, events: [], secretSet: false }).url).toBeNull();
    expect(readWebhook({ url: 'https://a.example', secretSet: true })).toEqual({
      url: 'https://a.example',
      events: [],
      secretSet: true,
    });
    expect(readWebhook({ url: null }).secretSet).toBeNull();
    expect(() => readWebhook({})).toThrow(ZodError);
  });

  it('requires a secret where one is issued', () => {
    expect(readSecret({ url: 'x', secret: 's' })).toBe('s');
    for (const value of [{}, { secret: '' }, { secret: null }])
      expect(() => readSecret(value)).toThrow(ZodError);
  });

  it('reads the account', () => {
    const account = {
      slots: { total: 3, used: 1, available: 2, nextExpiry: null },
      connections: { total: 1, connected: 1, needsReconnect: 0 },
    };
    expect(readAccount({ ...account, plan: 'x' })).toEqual(account);
    expect(readAccount({ slots: account.slots })).toEqual({ slots: account.slots, connections: null });
    expect(() => readAccount({ slots: [] })).toThrow(ZodError);
  });
});
