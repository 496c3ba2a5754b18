import { describe, expect, it } from 'vitest';
import { WEBHOOK_SEEN } from '../../../src/connector/db/facts.ts';
import { interpretBody } from '../../../src/connector/inbox/interpret-body.ts';
import { proves } from '../../support/proves.ts';

const context = { accountId: 'account-1', signedAt: 1_768_478_400_123 };
const read = (body: unknown) =>
  interpretBody(
    Buffer.isBuffer(body) ? body : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)),
    context,
  );

const receivedEvent = {
  event: 'message.received',
  connection_id: 'connection-1',
  message: {
    id: 'message-1',
    wa_id: 'wa-1',
    from: '15551234567',
    text: 'Hello',
    media_url: 'https://media.example/1',
    media_type: 'image/png',
    timestamp: 1_768_478_400_000,
  },
};
const statusEvent = {
  event: 'message.status',
  connection_id: 'connection-1',
  message: { id: 'message-1', wa_id: 'wa-1', status: 'delivered', timestamp: 1_768_478_400_000 },
};
const disconnectedEvent = {
  event: 'connection.disconnected',
  connection_id: 'connection-1',
  connection: {
    id: 'connection-1',
    phone_number: '4917012345678',
    label: 'Front desk',
    status: 'disconnected',
    needs_reconnect: true,
    license_status: 'active',
    license_expires: '2026-02-01T00:00:00.000Z',
    reason: 'AUTH_LOST',
  },
  timestamp: 1_768_478_400_000,
};

describe('reading a verified body', () => {
  it('returns an incoming message', () => {
    proves('events.received.dedupe', 'messages.item.waMessageId.no-join');
    expect(read(receivedEvent)).toEqual({
      kind: 'message',
      event: 'message.received',
      message: {
        connectionId: 'connection-1',
        messageId: 'message-1',
        accountId: 'account-1',
        source: 'webhook',
        direction: 'incoming',
        peer: '15551234567',
        text: 'Hello',
        mediaUrl: 'https://media.example/1',
        mediaType: 'image/png',
        status: null,
        errorMessage: null,
        reference: null,
        waMessageId: 'wa-1',
        createdAt: 1_768_478_400_000,
        webhookSeen: WEBHOOK_SEEN.received,
      },
    });
  });

  it('returns a status of an outgoing message', () => {
    proves('messages.item.waMessageId.no-join');
    expect(read(statusEvent)).toMatchObject({
      kind: 'message',
      message: {
        messageId: 'message-1',
        direction: 'outgoing',
        status: 'delivered',
        peer: null,
        webhookSeen: WEBHOOK_SEEN.delivered,
      },
    });
  });

  it('returns both connection events', () => {
    expect(read(disconnectedEvent)).toMatchObject({
      kind: 'connection',
      connection: {
        event: 'connection.disconnected',
        at: 1_768_478_400_000,
        status: 'disconnected',
        needsReconnect: true,
        licenseExpires: Date.UTC(2026, 1, 1),
        reason: 'AUTH_LOST',
      },
    });
    expect(read({ event: 'connection.connected', connection_id: 'connection-1' })).toMatchObject({
      kind: 'connection',
      connection: { at: context.signedAt, status: 'connected', needsReconnect: false, reason: null },
    });
  });

  it('ignores unknown fields and a hostile __proto__', () => {
    proves('versioning.client.unknown-fields');
    const text = JSON.stringify(statusEvent).replace('{', '{"__proto__":{"polluted":true},"extra":[1],');
    expect(read(text)).toEqual(read(statusEvent));
    expect(Reflect.get({}, 'polluted')).toBeUndefined();
  });

  it('keeps an unknown event type', () => {
    proves('events.client-ignores', 'versioning.client.unknown-events');
    expect(read({ event: 'test.unknown', anything: 1 })).toEqual({
      kind: 'kept',
      event: 'test.unknown',
      outcome: 'unknown_event',
    });
  });

  it.each([
    ['no message', { ...receivedEvent, message: undefined }, 'message'],
    [
      'an id that is no string',
      { ...statusEvent, message: { ...statusEvent.message, id: true } },
      'message.id',
    ],
    ['an id with a NUL', { ...statusEvent, message: { ...statusEvent.message, id: 'a\0b' } }, 'message.id'],
    ['an id with a lone surrogate', { ...statusEvent, connection_id: 'a\ud800' }, 'connection_id'],
    ['an id as long as a book', { ...statusEvent, connection_id: 'a'.repeat(9_999) }, 'connection_id'],
  ])('keeps a known event with %s, and names the invalid field', (_, event, field) => {
    const told = read(event);
    expect(told).toMatchObject({ kind: 'kept', outcome: 'invalid' });
    expect(told.kind === 'kept' ? told.reason : '').toContain(field);
  });

  it.each([
    ['past what Date takes', 8.64e15 + 1],
    ['past what Postgres takes', 8.64e15],
    ['before 1970', -1],
    ['in words', 'noon'],
  ])('uses the signed time for a timestamp %s', (_, value) => {
    expect(read(timestamp(value))).toMatchObject({
      kind: 'message',
      reason: 'not readable: message.timestamp',
      message: { status: 'delivered', createdAt: context.signedAt },
    });
  });

  it('uses the signed time for a timestamp that is not a finite number', () => {
    const text = JSON.stringify(statusEvent).replace('1768478400000', '1e400');
    expect(read(text)).toMatchObject({ kind: 'message', message: { createdAt: context.signedAt } });
  });

  it('names what an unknown event is about, as far as it can be read', () => {
    const told = (rest: object) => read({ event: 'message.reaction', ...rest });
    expect(told({ connection_id: 'c1', message: {} })).toMatchObject({
      names: { connectionId: 'c1', messageId: null },
    });
    expect(told({ message: { id: 'm1' } })).toMatchObject({ names: { connectionId: null, messageId: 'm1' } });
    expect(told({})).not.toHaveProperty('names');
  });

  it('names the message of a status that does not exist', () => {
    const event = { ...statusEvent, message: { ...statusEvent.message, status: 'seen' } };
    expect(read(event)).toMatchObject({
      kind: 'message',
      reason: 'not readable: message.status',
      message: { messageId: 'message-1', status: null, webhookSeen: 0 },
    });
  });

  it.each([
    ['no wa_id', { wa_id: undefined }],
    ['a wa_id that is a number', { wa_id: 12345 }],
    ['a text that is an object', { text: { body: 'Hello' } }],
    ['a text that is a number', { text: 7 }],
    ['a long address', { media_url: `https://media.example/${'a'.repeat(9_000)}` }],
    ['a list for a type', { media_type: ['image/png'] }],
    ['a time in ISO 8601', { timestamp: '2026-01-15 12:00:00+0000' }],
    ['no time', { timestamp: null }],
    ['an id that is a number', { id: 4711 }],
  ])('knows the sender of a message with %s', (_, fields) => {
    expect(read({ ...receivedEvent, message: { ...receivedEvent.message, ...fields } })).toMatchObject({
      kind: 'message',
      message: { direction: 'incoming', peer: '15551234567' },
    });
  });

  it.each([
    ['an end without zone', { license_expires: '2026-02-01T00:00:00' }],
    ['an empty end', { license_expires: '' }],
    ['an end in milliseconds', { license_expires: Date.UTC(2026, 1, 1) }],
    ['a label that is a number', { label: 7 }],
    ['a reason that is an object', { reason: { code: 'AUTH_LOST' } }],
  ])('knows that a connection is broken, with %s', (_, fields) => {
    const connection = { ...disconnectedEvent.connection, ...fields };
    expect(read({ ...disconnectedEvent, connection })).toMatchObject({
      kind: 'connection',
      connection: { needsReconnect: true, status: 'disconnected' },
    });
  });

  it.each([[[]], [null]])('knows that a connection is broken of which the event says %j', (connection) => {
    expect(read({ ...disconnectedEvent, connection })).toMatchObject({
      kind: 'connection',
      connection: { needsReconnect: true, status: 'disconnected' },
    });
  });

  it('uses the last of duplicate keys, as JSON.parse does', () => {
    const text = JSON.stringify(statusEvent).replace('"status":', '"status":"sent","status":');
    expect(read(text)).toMatchObject({ message: { status: 'delivered' } });
  });

  it('skips a byte order mark, and reads invalid UTF-8 as U+FFFD', () => {
    expect(read(`\ufeff${JSON.stringify(statusEvent)}`)).toEqual(read(statusEvent));
    const [before, after] = JSON.stringify(receivedEvent).split('Hello');
    const body = Buffer.concat([
      Buffer.from(`${before}H`),
      Buffer.from([0xff, 0xc3]),
      Buffer.from(after ?? ''),
    ]);
    expect(read(body)).toMatchObject({ message: { text: 'H\ufffd\ufffd' } });
  });

  it.each([
    ['nothing', ''],
    ['white space', ' \n'],
    ['half an object', '{"event":"message.received"'],
    ['an array', '[{"event":"message.received"}]'],
    ['a string', '"message.received"'],
    ['a number', '1'],
    ['null', 'null'],
    ['an object without an event', '{}'],
    ['an event that is no string', '{"event":{"toString":1}}'],
    ['two objects', '{"event":"a"}{"event":"b"}'],
    ['single quotes', "{'event':'a'}"],
    ['an inherited event', '{"__proto__":{"event":"message.received"}}'],
    ['UTF-16', Buffer.from('{"event":"a"}', 'utf16le')],
    ['half a byte order mark', Buffer.concat([Buffer.from([0xef, 0xbb]), Buffer.from('{"event":"a"}')])],
    ['a hundred thousand open brackets', '['.repeat(100_000)],
    ['a gzip stream', Buffer.from([0x1f, 0x8b, 0x08, 0, 0, 0, 0, 0])],
  ])('finds no event in %s', (_, body) => {
    expect(read(body)).toEqual({ kind: 'not_an_event' });
  });

  it('reads an event nested as deep as a body can be', () => {
    const deep = `${'['.repeat(200_000)}${']'.repeat(200_000)}`;
    const text = JSON.stringify(statusEvent).replace('{', `{"extra":${deep},`);
    expect(read(text)).toEqual(read(statusEvent));
  });
});

function timestamp(value: unknown): unknown {
  return { ...statusEvent, message: { ...statusEvent.message, timestamp: value } };
}
