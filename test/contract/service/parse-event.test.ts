import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { messageReceivedEvent, webhookEvent } from '../../../src/contract/service/events.ts';
import { parseWebhookEvent } from '../../../src/contract/service/parse-event.ts';
import { proves } from '../../support/proves.ts';
import { disconnected, received, status } from './samples.ts';

function withMessage(fields: object) {
  return { ...received, message: { ...received.message, ...fields } };
}

function withConnection(fields: object) {
  return { ...disconnected, connection: { ...disconnected.connection, ...fields } };
}

describe('a known event', () => {
  it('is read with every documented field', () => {
    expect(parseWebhookEvent(received)).toEqual({ kind: 'known', event: received, unread: [] });
    expect(parseWebhookEvent(status)).toEqual({ kind: 'known', event: status, unread: [] });
    const { id: _id, ...rest } = disconnected.connection;
    const connection = { ...rest, license_expires: Date.UTC(2026, 0, 1) };
    expect(parseWebhookEvent(disconnected)).toEqual({
      kind: 'known',
      event: { ...disconnected, connection },
      unread: [],
    });
  });

  it('is read with every value that the service may write', () => {
    for (const event of [
      received,
      status,
      disconnected,
      { ...disconnected, event: 'connection.connected' },
    ]) {
      expect(webhookEvent.safeParse(event).success).toBe(true);
      expect(parseWebhookEvent(event).kind).toBe('known');
    }
  });

  it('can have an unknown reason', () => {
    proves('events.disconnected.reason-new', 'events.disconnected.drives');
    const connection = { ...disconnected.connection, reason: 'PHONE_LOST_AT_SEA' };
    expect(parseWebhookEvent({ ...disconnected, connection })).toMatchObject({
      kind: 'known',
      event: { connection: { reason: 'PHONE_LOST_AT_SEA', needs_reconnect: true } },
    });
  });

  it('loses unknown fields at any depth', () => {
    proves('versioning.client.unknown-fields');
    const deep = JSON.parse(`${'['.repeat(20_000)}${']'.repeat(20_000)}`);
    const hostile = JSON.parse('{"__proto__":{"admin":true},"constructor":1}');
    const event = { ...withMessage({ extra: deep, ...hostile }), more: deep };
    expect(parseWebhookEvent(event)).toEqual({ kind: 'known', event: received, unread: [] });
  });

  it('ignores a __proto__ in JSON', () => {
    const parsed = parseWebhookEvent(
      JSON.parse('{"event":"message.status","connection_id":"c1","__proto__":{"message":{"id":"x"}}}'),
    );
    expect(parsed).toMatchObject({ kind: 'invalid', type: 'message.status' });
  });

  it('reads dispensable fields as null', () => {
    const { id, from, timestamp } = received.message;
    expect(parseWebhookEvent({ ...received, message: { id, from, timestamp } })).toMatchObject({
      kind: 'known',
      event: { message: { wa_id: null, text: null, media_url: null, media_type: null } },
    });
    expect(parseWebhookEvent({ event: 'connection.connected', connection_id: 'c1' })).toEqual({
      kind: 'known',
      event: { event: 'connection.connected', connection_id: 'c1', connection: null, timestamp: null },
      unread: [],
    });
  });

  it('keeps NUL and lone surrogates in a text', () => {
    expect(parseWebhookEvent(withMessage({ text: 'a\u0000b\ud800' }))).toMatchObject({
      kind: 'known',
      event: { message: { text: 'a\u0000b\ud800' } },
    });
  });

  it('has timestamps in whole milliseconds', () => {
    expect(parseWebhookEvent(withMessage({ timestamp: 1_763_700_000_000.75 }))).toMatchObject({
      event: { message: { timestamp: 1_763_700_000_000 } },
    });
  });
});

describe('an invalid event', () => {
  it.each([
    ['no message', { ...received, message: undefined }, 'message'],
    ['a message that is a list', { ...received, message: [] }, 'message'],
    ['no connection', { ...received, connection_id: undefined }, 'connection_id'],
    ['an empty id', withMessage({ id: '' }), 'message.id'],
    ['an id of 256 characters', withMessage({ id: 'x'.repeat(256) }), 'message.id'],
    ['an id with NUL', withMessage({ id: 'm\u0000' }), 'message.id'],
    ['an id with a lone surrogate', withMessage({ id: 'm\ud800' }), 'message.id'],
    ['an id that is a fraction', withMessage({ id: 7.5 }), 'message.id'],
    ['an id whose digits were lost', withMessage({ id: 2 ** 53 }), 'message.id'],
  ])('is %s, and the reason names the field', (_name, event, field) => {
    const parsed = parseWebhookEvent(event);
    expect(parsed).toMatchObject({ kind: 'invalid', type: event.event });
    expect(parsed.kind === 'invalid' && parsed.reason.split(':')[0]).toBe(field);
  });

  it('has a reason that contains no value of the event', () => {
    const parsed = parseWebhookEvent(withMessage({ id: 'canary canary', text: { canary: 1 } }));
    expect(parsed.kind).toBe('invalid');
    expect(JSON.stringify(parsed)).not.toContain('canary');
  });
});

describe('a field that cannot be read', () => {
  it.each([
    ['no sender', withMessage({ from: {} }), 'message.from'],
    ['a text that is a number', withMessage({ text: 7 }), 'message.text'],
    ['a long address', withMessage({ media_url: 'x'.repeat(8_193) }), 'message.media_url'],
    ['a negative timestamp', withMessage({ timestamp: -1 }), 'message.timestamp'],
    ['a timestamp that timestamptz refuses', withMessage({ timestamp: 8.64e15 }), 'message.timestamp'],
    ['a timestamp past the year 9999', withMessage({ timestamp: 253_402_300_800_000 }), 'message.timestamp'],
    ['an infinite timestamp', withMessage({ timestamp: Number.POSITIVE_INFINITY }), 'message.timestamp'],
    [
      'a status off the ladder',
      { ...status, message: { ...status.message, status: 'seen' } },
      'message.status',
    ],
    ['a connection that is none', { ...disconnected, connection: 'c1' }, 'connection'],
    ['an end in words', withConnection({ license_expires: 'soon' }), 'connection.license_expires'],
  ])('is null and named: %s', (_name, event, field) => {
    expect(parseWebhookEvent(event)).toMatchObject({ kind: 'known', unread: [field] });
  });

  it('is not named if it is absent, null or empty', () => {
    const { id } = received.message;
    const fields = { id, wa_id: null, text: '' };
    expect(parseWebhookEvent({ ...received, message: fields })).toMatchObject({ kind: 'known', unread: [] });
  });

  it('is named without its value', () => {
    const parsed = parseWebhookEvent(withMessage({ text: { canary: 1 }, media_type: ['canary'] }));
    expect(parsed).toMatchObject({ unread: ['message.text', 'message.media_type'] });
    expect(JSON.stringify(parsed)).not.toContain('canary');
  });
});

describe('a value that is written differently', () => {
  it.each([
    ['an id', withMessage({ id: 42 }), { message: { id: '42' } }],
    ['a sender', withMessage({ from: 15551234567 }), { message: { from: '15551234567' } }],
    [
      'a time in digits',
      withMessage({ timestamp: '1763700000000' }),
      { message: { timestamp: 1_763_700_000_000 } },
    ],
    [
      'a time in words',
      withMessage({ timestamp: '2025-11-21T04:40:00Z' }),
      { message: { timestamp: 1_763_700_000_000 } },
    ],
    [
      'a status',
      { ...status, message: { ...status.message, status: 'DELIVERED' } },
      { message: { status: 'delivered' } },
    ],
    ['a flag', withConnection({ needs_reconnect: 'true' }), { connection: { needs_reconnect: true } }],
  ])('is read: %s', (_name, event, expected) => {
    expect(parseWebhookEvent(event)).toMatchObject({ kind: 'known', event: expected, unread: [] });
  });
});

describe('anything else', () => {
  it('is an unknown event if it names another type', () => {
    proves('events.client-ignores', 'versioning.client.unknown-events');
    expect(parseWebhookEvent({ event: 'message.edited', x: 1 })).toEqual({
      kind: 'unknown',
      type: 'message.edited',
    });
    for (const type of ['', 'toString', '__proto__', 'Message.Received', 'message.received ']) {
      expect(parseWebhookEvent({ event: type })).toEqual({ kind: 'unknown', type });
    }
  });

  it('has a type of bounded length', () => {
    const parsed = parseWebhookEvent({ event: 'x'.repeat(100_000) });
    expect(parsed).toEqual({ kind: 'unknown', type: 'x'.repeat(128) });
  });

  it('is no event if it is not an object with a string `event`', () => {
    for (const value of [
      null,
      undefined,
      7,
      'message.received',
      [],
      [received],
      {},
      { event: 7 },
      { event: null },
    ]) {
      expect(parseWebhookEvent(value)).toEqual({ kind: 'not_an_event' });
    }
  });
});

describe('reading any JSON', () => {
  const hostile = fc.oneof(fc.jsonValue(), fc.string({ unit: 'binary' }), fc.double());

  it('never throws, and accepts nothing invalid', () => {
    const event = fc.record(
      {
        event: fc.oneof(fc.constantFrom('message.received', 'message.status'), hostile),
        connection_id: fc.oneof(fc.constant('c1'), hostile),
        message: fc.oneof(
          fc.record(
            {
              id: fc.oneof(fc.constant('m1'), hostile),
              from: fc.oneof(fc.constant('15551234567'), hostile),
              status: fc.oneof(fc.constant('read'), hostile),
              text: fc.oneof(fc.constant(null), hostile),
              timestamp: fc.oneof(fc.constant(1_763_700_000_000), fc.double(), hostile),
            },
            { requiredKeys: [] },
          ),
          hostile,
        ),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(event, (value) => {
        const parsed = parseWebhookEvent(value);
        if (parsed.kind !== 'known') return;
        const { event: read } = parsed;
        expect(read.connection_id).toMatch(/^[\x21-\x7e]{1,255}$/);
        if (!('message' in read)) return;
        expect(read.message.id).toMatch(/^[\x21-\x7e]{1,255}$/);
        const { timestamp } = read.message;
        if (timestamp === null) return;
        expect(Number.isInteger(timestamp)).toBe(true);
        expect(new Date(timestamp).toISOString()).toMatch(/^\d{4}-/);
      }),
      { numRuns: 500 },
    );
  });
});

it('is stricter for writing than for reading', () => {
  expect(messageReceivedEvent.safeParse(withMessage({ from: '+15551234567' })).success).toBe(false);
  expect(parseWebhookEvent(withMessage({ from: '+15551234567' })).kind).toBe('known');
});
