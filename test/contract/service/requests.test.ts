import { describe, expect, it } from 'vitest';
import type { z } from 'zod';
import { pairingCodeAnswer, pairingCodeRequest } from '../../../src/contract/service/connections.ts';
import {
  listMessagesQuery,
  readReceiptRequest,
  sendMessageRequest,
} from '../../../src/contract/service/messages.ts';
import { describeRefusal } from '../../../src/contract/service/request-refusal.ts';
import { putWebhookRequest } from '../../../src/contract/service/webhook.ts';
import { proves } from '../../support/proves.ts';

/** The refusal of a request, or `taken`. */
function refusal(schema: z.ZodType, request: unknown) {
  const parsed = schema.safeParse(request);
  return parsed.success ? 'taken' : describeRefusal(parsed.error);
}

const send = { connectionId: 'c1', to: '15551234567', text: 'Hello' };
const media = { filename: 'voice-1.ogg', mimetype: 'audio/ogg', data: 'QUJD' };
const { text: _text, ...withoutText } = send;

describe('a send', () => {
  it('is accepted with exactly one of text and media', () => {
    proves('messages.send.one', 'messages.send.both', 'errors.text_or_media', 'choice.content.neither');
    expect(refusal(sendMessageRequest, send)).toBe('taken');
    expect(refusal(sendMessageRequest, { ...withoutText, media })).toBe('taken');
    expect(refusal(sendMessageRequest, { ...send, media })).toEqual({ error: 'text_or_media' });
    expect(refusal(sendMessageRequest, withoutText)).toEqual({ error: 'text_or_media' });
    const broken = { ...send, text: '', media: { filename: 'a.png', data: '!' } };
    expect(refusal(sendMessageRequest, broken)).toEqual({ error: 'text_or_media' });
  });

  it.each([
    ['connectionId', { connectionId: undefined }],
    ['connectionId', { connectionId: '' }],
    ['connectionId', { connectionId: 7 }],
    ['text', { text: '' }],
    ['text', { text: 12 }],
    ['idempotencyKey', { idempotencyKey: '' }],
    ['idempotencyKey', { idempotencyKey: 1 }],
  ])('names an invalid %s: %j', (field, change) => {
    proves('messages.send.connectionId', 'messages.send.text');
    expect(refusal(sendMessageRequest, { ...send, ...change })).toMatchObject({
      error: 'invalid_request',
      field,
    });
  });

  it('accepts 4096 characters and refuses 4097, however many code units each has', () => {
    proves('messages.send.text', 'limits.text', 'choice.text.code-points');
    expect(refusal(sendMessageRequest, { ...send, text: 'x'.repeat(4096) })).toBe('taken');
    expect(refusal(sendMessageRequest, { ...send, text: '👋'.repeat(4096) })).toBe('taken');
    for (const text of ['x'.repeat(4097), '👋'.repeat(4097), 'x'.repeat(100_000)]) {
      expect(refusal(sendMessageRequest, { ...send, text })).toMatchObject({
        error: 'invalid_request',
        field: 'text',
      });
    }
  });

  it('reports an invalid recipient as a field, not as invalid_phone_number', () => {
    proves('messages.send.to', 'choice.to.field');
    for (const to of [
      '+15551234567',
      '1555 1234567',
      '',
      '٤٩١٥١١',
      '0015551234567',
      15551234567,
      undefined,
    ]) {
      expect(refusal(sendMessageRequest, { ...send, to })).toMatchObject({
        error: 'invalid_request',
        field: 'to',
      });
    }
  });

  it.each([
    ['media.filename', { filename: undefined }],
    ['media.filename', { filename: '' }],
    ['media.filename', { filename: 'x'.repeat(256) }],
    ['media.mimetype', { mimetype: undefined }],
    ['media.mimetype', { mimetype: 7 }],
    ['media.data', { data: undefined }],
    ['media.data', { data: 7 }],
    ['media.data', { data: '' }],
    ['media.data', { data: 'QUJ' }],
    ['media.data', { data: 'QUJD=' }],
    ['media.data', { data: 'QQ=' }],
    ['media.data', { data: 'Q===' }],
    ['media.data', { data: 'QQ==QUJD' }],
    ['media.data', { data: 'QU-_' }],
    ['media.data', { data: 'QUJD QUJD' }],
    ['media.data', { data: 'QUJD\nQUJD' }],
    ['media.data', { data: 'QUJ\u0141' }],
    ['media.data', { data: 'data:image/png;base64,QUJD' }],
    ['media.caption', { caption: 7 }],
    ['media.caption', { caption: 'x'.repeat(4097) }],
    ['media.data', { data: 'A'.repeat(16 * 1024 * 1024 + 4) }],
  ])('names the invalid %s inside the media: %j', (field, change) => {
    proves('media.filename', 'media.mimetype', 'media.data', 'media.caption');
    proves('limits.media', 'choice.media.characters');
    const wrong = { ...withoutText, media: { ...media, ...change } };
    expect(refusal(sendMessageRequest, wrong)).toMatchObject({ error: 'invalid_request', field });
  });

  it('accepts 16 MB of base64', () => {
    proves('media.data', 'limits.media', 'choice.media.characters');
    const full = { ...media, data: 'A'.repeat(16 * 1024 * 1024) };
    expect(refusal(sendMessageRequest, { ...withoutText, media: full })).toBe('taken');
  });

  it('ignores unknown fields', () => {
    expect(refusal(sendMessageRequest, { ...send, priority: 1 })).toBe('taken');
  });

  it('names the body if it is not an object', () => {
    for (const body of [null, [], 'x', 7]) {
      expect(refusal(sendMessageRequest, body)).toMatchObject({ error: 'invalid_request', field: 'body' });
    }
  });

  it('repeats no input in a refusal', () => {
    const refused = JSON.stringify(refusal(sendMessageRequest, { ...send, to: '+49canary' }));
    expect(refused).not.toContain('canary');
  });
});

describe('a page of messages', () => {
  it('has 20 messages by default', () => {
    expect(listMessagesQuery.parse({})).toEqual({ limit: 20 });
  });

  it('accepts limits from 1 to 100', () => {
    expect(listMessagesQuery.parse({ limit: '1' }).limit).toBe(1);
    expect(listMessagesQuery.parse({ limit: '100' }).limit).toBe(100);
  });

  it('refuses any other limit, and names the field', () => {
    proves('messages.list.limit', 'limits.page', 'choice.limit.refused');
    for (const limit of ['0', '101', '-1', '1.5', '1e1', '0x10', ' 5', '5 ', '', 'x', '٥', ['5', '6']]) {
      expect(refusal(listMessagesQuery, { limit })).toMatchObject({
        error: 'invalid_request',
        field: 'limit',
      });
    }
  });

  it('refuses a repeated cursor', () => {
    expect(refusal(listMessagesQuery, { cursor: ['a', 'b'] })).toMatchObject({ field: 'cursor' });
  });
});

describe('pairing, receipts and the webhook', () => {
  it('refuses every phoneNumber except digits, with its own code', () => {
    proves('connections.pairing-code.digits', 'connections.pairing-code.no-clean-up');
    for (const phoneNumber of ['12345', '15551234567', '123456789012345'])
      expect(refusal(pairingCodeRequest, { phoneNumber })).toBe('taken');
    const clean = ['+15551234567', ' 15551234567', '15551234567\n', '1-555-123', '49 151 123'];
    const others = ['', '0151123456', '1234', '1234567890123456', '٤٩١٥١١٢٣٤٥', 15551234567, null];
    for (const phoneNumber of [...clean, ...others])
      expect(refusal(pairingCodeRequest, { phoneNumber })).toEqual({ error: 'invalid_phone_number' });
    expect(refusal(pairingCodeRequest, {})).toEqual({ error: 'invalid_phone_number' });
  });

  it('formats a pairing code as two groups of four', () => {
    proves('shapes.pairing-code');
    expect(pairingCodeAnswer.safeParse({ code: 'AB12-CD34' }).success).toBe(true);
    for (const code of ['AB12CD34', 'AB1-2CD34', 'AB12-CD345']) {
      expect(pairingCodeAnswer.safeParse({ code }).success, code).toBe(false);
    }
  });

  it('requires a phone or a message for a receipt', () => {
    proves('messages.read.one-required', 'messages.read.connection-required');
    expect(refusal(readReceiptRequest, { connectionId: 'c1', phone: '15551234567' })).toBe('taken');
    expect(refusal(readReceiptRequest, { connectionId: 'c1', messageId: 'm1' })).toBe('taken');
    for (const [field, fields] of [
      ['connectionId', { connectionId: undefined, phone: '15551234567' }],
      ['connectionId', { connectionId: 7, phone: '15551234567' }],
      ['messageId', {}],
      ['messageId', { messageId: '' }],
      ['messageId', { messageId: 7 }],
      ['phone', { phone: '+15551234567' }],
      ['phone', { phone: '' }],
    ] as const)
      expect(refusal(readReceiptRequest, { connectionId: 'c1', ...fields })).toMatchObject({
        error: 'invalid_request',
        field,
      });
  });

  it('requires a URL for the webhook', () => {
    for (const body of [{}, { url: null }, { url: 7 }, { url: '' }])
      expect(refusal(putWebhookRequest, body)).toMatchObject({ error: 'invalid_request', field: 'url' });
    expect(refusal(putWebhookRequest, { url: 'https://crm.example/hook' })).toBe('taken');
  });
});
