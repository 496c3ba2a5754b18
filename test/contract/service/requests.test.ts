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
    proves('messages.send.one', 'messages.send.both');
    expect(refusal(sendMessageRequest, send)).toBe('taken');
    expect(refusal(sendMessageRequest, { ...withoutText, media })).toBe('taken');
    expect(refusal(sendMessageRequest, { ...send, media })).toEqual({ error: 'text_or_media' });
    expect(refusal(sendMessageRequest, withoutText)).toEqual({ error: 'text_or_media' });
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
    proves('choice.to.field');
    for (const to of ['+15551234567', '1555 1234567', '', 'abc', '0015551234567', 15551234567, undefined]) {
      expect(refusal(sendMessageRequest, { ...send, to })).toMatchObject({
        error: 'invalid_request',
        field: 'to',
      });
    }
  });

  it('names the offending key inside the media', () => {
    proves('media.data', 'media.filename', 'limits.media', 'choice.media.characters');
    const over = { ...media, data: 'A'.repeat(16 * 1024 * 1024 + 4) };
    expect(refusal(sendMessageRequest, { ...withoutText, media: over })).toMatchObject({
      error: 'invalid_request',
      field: 'media.data',
    });
    expect(refusal(sendMessageRequest, { ...withoutText, media: { ...media, data: '!' } })).toMatchObject({
      field: 'media.data',
    });
    expect(refusal(sendMessageRequest, { ...withoutText, media: { ...media, filename: 7 } })).toMatchObject({
      field: 'media.filename',
    });
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
    expect(refusal(pairingCodeRequest, { phoneNumber: '15551234567' })).toBe('taken');
    for (const phoneNumber of ['+15551234567', ' 15551234567', '15551234567\n', '1-555-123', '', 7, null]) {
      expect(refusal(pairingCodeRequest, { phoneNumber })).toEqual({ error: 'invalid_phone_number' });
    }
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
    expect(refusal(readReceiptRequest, { connectionId: 'c1' })).toMatchObject({
      error: 'invalid_request',
      field: 'messageId',
    });
    expect(refusal(readReceiptRequest, { messageId: 'm1' })).toMatchObject({ field: 'connectionId' });
  });

  it('requires a URL for the webhook', () => {
    expect(refusal(putWebhookRequest, {})).toMatchObject({ error: 'invalid_request', field: 'url' });
    expect(refusal(putWebhookRequest, { url: 'https://crm.example/hook' })).toBe('taken');
  });
});
