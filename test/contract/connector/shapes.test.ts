import { describe, expect, it } from 'vitest';
import type { z } from 'zod';
import { connectorAccountList } from '../../../src/contract/connector/accounts.ts';
import {
  CHANGE_TYPES,
  change,
  changeList,
  listChangesQuery,
} from '../../../src/contract/connector/changes.ts';
import {
  connectorConnection,
  connectorConnectionList,
  mapCustomerRequest,
} from '../../../src/contract/connector/connections.ts';
import { CONNECTOR_ERRORS, connectorErrorBody } from '../../../src/contract/connector/errors.ts';
import {
  connectorMessage,
  connectorMessageList,
  FIRST_SEEN_BY,
  listConnectorMessagesQuery,
  queueMessageRequest,
} from '../../../src/contract/connector/messages.ts';
import { OUTBOUND_STATES, outbound, outboundList } from '../../../src/contract/connector/outbound.ts';

const stored = {
  id: 'm1',
  connectionId: 'c1',
  direction: 'incoming',
  peer: '15551234567',
  text: 'Hello',
  mediaUrl: null,
  mediaType: null,
  status: null,
  errorMessage: null,
  createdAt: '2025-11-21T04:40:00.000Z',
  firstSeenBy: 'webhook',
};
const head = { seq: 1, at: '2025-11-21T04:40:01.000Z', accountId: 'a1', connectionId: 'c1' };

function issuePath(schema: z.ZodType, value: unknown): string | undefined {
  return schema.safeParse(value).error?.issues[0]?.path.join('.');
}

describe('messages and connections', () => {
  it('have the documented fields', () => {
    expect(Object.keys(connectorMessage.shape)).toEqual([
      'id',
      'connectionId',
      'direction',
      'peer',
      'text',
      'mediaUrl',
      'mediaType',
      'status',
      'errorMessage',
      'createdAt',
      'firstSeenBy',
      'customerRef',
    ]);
    expect(FIRST_SEEN_BY).toEqual(['webhook', 'poll', 'send']);
    expect(Object.keys(connectorConnection.shape)).toEqual(
      expect.arrayContaining(['id', 'accountId', 'health', 'licenseValid', 'lastContactAt', 'customerRef']),
    );
  });

  it('can be known only from a status', () => {
    const known = {
      ...stored,
      direction: 'outgoing',
      peer: null,
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
  it.each([
    ['messages', connectorMessageList],
    ['connections', connectorConnectionList],
    ['changes', changeList],
    ['accounts', connectorAccountList],
    ['outbound', outboundList],
  ])('name their entries: %s', (name, list) => {
    const position = name === 'changes' ? ['feedId', 'lastSeq'] : [];
    expect(Object.keys(list.shape)).toEqual([name, 'nextCursor', 'hasMore', ...position]);
  });

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
  it('have the five types', () => {
    expect(CHANGE_TYPES).toEqual([
      'message.created',
      'message.status',
      'message.updated',
      'connection.updated',
      'outbound.updated',
    ]);
    expect(change.options.map((option) => option.shape.type.value)).toEqual([...CHANGE_TYPES]);
  });

  it('contain a created message, and a status with the previous one', () => {
    expect(
      change.safeParse({ ...head, type: 'message.created', messageId: 'm1', data: stored }).success,
    ).toBe(true);
    const status = { ...head, type: 'message.status', messageId: 'm1' };
    expect(change.safeParse({ ...status, data: { status: 'read', previous: 'sent' } }).success).toBe(true);
    expect(change.safeParse({ ...status, data: { status: 'read', previous: null } }).success).toBe(true);
    expect(issuePath(change, { ...status, data: { status: 'read' } })).toBe('data.previous');
  });

  it('name their message', () => {
    expect(issuePath(change, { ...head, type: 'message.created', data: stored })).toBe('messageId');
  });

  it('start at 1', () => {
    expect(
      issuePath(change, { ...head, seq: 0, type: 'message.created', messageId: 'm1', data: stored }),
    ).toBe('seq');
  });
});

describe('sends', () => {
  it('have the seven states and the documented fields', () => {
    expect(OUTBOUND_STATES).toEqual([
      'queued',
      'sending',
      'sent',
      'rejected',
      'unknown',
      'delivered_not_stored',
      'cancelled',
    ]);
    expect(Object.keys(outbound.shape)).toEqual(
      expect.arrayContaining(['state', 'messageId', 'attempts', 'lastError', 'nextAttemptAt', 'reference']),
    );
  });

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
  it('have a code and a sentence, and the last position of the feed for a request beyond it', () => {
    expect(Object.keys(connectorErrorBody.shape)).toEqual(['error', 'message', 'feedId', 'lastSeq']);
  });

  it('have a status and a meaning each', () => {
    for (const [code, { status, meaning }] of Object.entries(CONNECTOR_ERRORS)) {
      expect(status, code).toBeGreaterThanOrEqual(400);
      expect(meaning, code).toMatch(/\.$/);
    }
  });
});
