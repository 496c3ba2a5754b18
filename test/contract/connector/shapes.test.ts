import { describe, expect, it } from 'vitest';
import type { z } from 'zod';
import { change, listChangesQuery } from '../../../src/contract/connector/changes.ts';
import { mapCustomerRequest } from '../../../src/contract/connector/connections.ts';
import { CONNECTOR_ERRORS } from '../../../src/contract/connector/errors.ts';
import {
  connectorMessage,
  listConnectorMessagesQuery,
  queueMessageRequest,
} from '../../../src/contract/connector/messages.ts';

const stored = {
  id: 'm1',
  connectionId: 'c1',
  direction: 'incoming',
  peer: '15551234567',
  personKey: '15551234567',
  text: 'Hello',
  mediaUrl: null,
  mediaType: null,
  mediaCopy: null,
  status: null,
  errorMessage: null,
  createdAt: '2025-11-21T04:40:00.000Z',
  firstSeenBy: 'webhook',
  historic: false,
  origin: null,
  reference: null,
};
const head = { seq: 1, at: '2025-11-21T04:40:01.000Z', accountId: 'a1', connectionId: 'c1' };

function issuePath(schema: z.ZodType, value: unknown): string | undefined {
  return schema.safeParse(value).error?.issues[0]?.path.join('.');
}

describe('messages and connections', () => {
  it('can be known only from a status', () => {
    const known = {
      ...stored,
      direction: 'outgoing',
      peer: null,
      personKey: null,
      text: null,
      status: 'read',
      customerRef: null,
    };
    expect(connectorMessage.safeParse(known).success).toBe(true);
  });

  it('are mapped to a customer or to none', () => {
    expect(mapCustomerRequest.safeParse({ customerRef: 'crm-7' }).success).toBe(true);
    expect(mapCustomerRequest.safeParse({ customerRef: null }).success).toBe(true);
    expect(issuePath(mapCustomerRequest, { customerRef: '' })).toBe('customerRef');
    expect(issuePath(mapCustomerRequest, {})).toBe('customerRef');
  });
});

describe('lists', () => {
  it('reject an unknown query field and one out of bounds', () => {
    expect(listConnectorMessagesQuery.parse({ peer: '15551234567' }).limit).toBe(50);
    expect(listConnectorMessagesQuery.safeParse({ connectionID: 'c1' }).success).toBe(false);
    expect(issuePath(listConnectorMessagesQuery, { limit: '0' })).toBe('limit');
    expect(issuePath(listConnectorMessagesQuery, { direction: 'sideways' })).toBe('direction');
    expect(listChangesQuery.parse({ after: '17' })).toMatchObject({ after: 17 });
    expect(issuePath(listChangesQuery, { after: '-1' })).toBe('after');
    expect(issuePath(listChangesQuery, { after: '1.5' })).toBe('after');
  });
});

describe('changes', () => {
  it('contain a created message, and a status with the previous one', () => {
    expect(
      change.safeParse({ ...head, type: 'message.created', messageId: 'm1', data: stored }).success,
    ).toBe(true);
    const status = { ...head, type: 'message.status', messageId: 'm1' };
    expect(
      change.safeParse({ ...status, data: { status: 'read', previous: 'sent', historic: false } }).success,
    ).toBe(true);
    expect(
      change.safeParse({ ...status, data: { status: 'read', previous: null, historic: false } }).success,
    ).toBe(true);
    expect(issuePath(change, { ...status, data: { status: 'read' } })).toBe('data.previous');
  });

  it('name their message, and start at 1', () => {
    const created = { ...head, type: 'message.created', data: stored };
    expect(issuePath(change, created)).toBe('messageId');
    expect(issuePath(change, { ...created, messageId: 'm1', seq: 0 })).toBe('seq');
  });
});

describe('sends', () => {
  it('need a reference and exactly one of text and media', () => {
    const send = { connectionId: 'c1', to: '15551234567', reference: 'crm-1' };
    const media = { filename: 'a.png', mimetype: 'image/png', data: 'QUJD' };
    expect(queueMessageRequest.safeParse({ ...send, text: 'Hello' }).success).toBe(true);
    expect(queueMessageRequest.safeParse({ ...send, media }).success).toBe(true);
    expect(queueMessageRequest.safeParse(send).success).toBe(false);
    expect(queueMessageRequest.safeParse({ ...send, text: 'Hello', media }).success).toBe(false);
    expect(issuePath(queueMessageRequest, { ...send, text: 'x', reference: undefined })).toBe('reference');
    expect(queueMessageRequest.safeParse({ ...send, text: 'x', idempotencyKey: 'k' }).success).toBe(false);
  });
});

describe('refusals', () => {
  it('have a status and a meaning each', () => {
    for (const [code, { status, meaning }] of Object.entries(CONNECTOR_ERRORS)) {
      expect(status, code).toBeGreaterThanOrEqual(400);
      expect(meaning, code).toMatch(/\.$/);
    }
  });
});
