import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { account } from '../../../src/contract/service/account.ts';
import * as connections from '../../../src/contract/service/connections.ts';
import * as events from '../../../src/contract/service/events.ts';
import * as messages from '../../../src/contract/service/messages.ts';
import * as webhook from '../../../src/contract/service/webhook.ts';
import { proves } from '../../support/proves.ts';

/** `name: type` of each field; `?` for an optional one. */
function table(schema: z.ZodType): string[] {
  const json = z.toJSONSchema(schema, { io: 'input' });
  return Object.entries(json.properties ?? {}).map(([name, field]) => {
    const optional = json.required?.includes(name) ? '' : '?';
    return `${name}${optional}: ${typeOf(field)}`;
  });
}

function typeOf(field: z.core.JSONSchema._JSONSchema): string {
  if (typeof field === 'boolean') return 'any';
  if (field.anyOf !== undefined) return field.anyOf.map(typeOf).join(' or ');
  if (field.format === 'date-time') return 'date-time';
  return [field.type].flat().join(' or ');
}

describe('connections', () => {
  it('has the list item of the specification', () => {
    expect(table(connections.connectionListItem)).toEqual([
      'id: string',
      'phoneNumber: string',
      'label: string',
      'status: string',
      'isDefault: boolean',
      'provider: string',
      'tier: string',
      'profilePicUrl: string',
      'licenseValid: boolean',
      'licenseStatus: string',
      'licenseExpires: date-time or null',
      'phone: string',
      'name: string',
    ]);
  });

  it('has the detail of the specification', () => {
    expect(table(connections.connectionDetail)).toEqual([
      'id: string',
      'status: string',
      'phoneNumber: string or null',
      'label: string',
      'provider: string',
      'licenseStatus: string',
      'licenseExpires: date-time or null',
      'qr?: string',
      'phone: string or null',
      'license_status: string',
      'license_expires: date-time or null',
    ]);
  });

  it('marks exactly the aliases as deprecated', () => {
    proves('versioning.aliases', 'choice.aliases');
    const deprecated = (schema: z.ZodType) =>
      Object.entries(z.toJSONSchema(schema).properties ?? {})
        .filter(([, field]) => typeof field === 'object' && field.deprecated === true)
        .map(([name]) => name);
    expect(deprecated(connections.connectionListItem)).toEqual(['phone', 'name']);
    expect(deprecated(connections.connectionDetail)).toEqual(['phone', 'license_status', 'license_expires']);
    expect(deprecated(messages.message)).toEqual([]);
  });

  it('has the created connection, the create request and the small answers', () => {
    expect(table(connections.createdConnection)).toEqual(['id: string', 'status: string', 'qr: string']);
    expect(table(connections.createConnectionRequest)).toEqual(['label?: string']);
    expect(table(connections.acknowledgement)).toEqual(['ok: boolean']);
    expect(table(connections.restartAnswer)).toEqual(['ok: boolean', 'recreated: boolean']);
    expect(table(connections.pairingCodeRequest)).toEqual(['phoneNumber: string']);
    expect(table(connections.pairingCodeAnswer)).toEqual(['code: string']);
  });

  it('wraps them as in the endpoint table', () => {
    expect(table(connections.connectionListAnswer)).toEqual(['connections: array']);
    expect(table(connections.connectionDetailAnswer)).toEqual(['connection: object']);
    expect(table(connections.createdConnectionAnswer)).toEqual(['connection: object']);
  });
});

describe('messages', () => {
  it('has the message of the specification', () => {
    expect(table(messages.message)).toEqual([
      'id: string',
      'waMessageId: string or null',
      'connectionId: string',
      'direction: string',
      'text: string or null',
      'mediaUrl: string or null',
      'mediaType: string or null',
      'status: string',
      'errorMessage: string or null',
      'createdAt: date-time',
    ]);
    expect(table(messages.listMessagesAnswer)).toEqual([
      'messages: array',
      'nextCursor: string or null',
      'hasMore: boolean',
    ]);
  });

  it('has the send, its media and its answer', () => {
    expect(table(messages.sendMessageRequest)).toEqual([
      'connectionId: string',
      'to: string',
      'text?: string',
      'media?: object',
      'idempotencyKey?: string',
    ]);
    expect(table(messages.mediaObject)).toEqual([
      'filename: string',
      'mimetype: string',
      'data: string',
      'caption?: string',
    ]);
    expect(table(messages.sendMessageAnswer)).toEqual([
      'messageId: string or null',
      'waMessageId: string or null',
      'status: string',
      'persisted?: boolean',
      'wa_message_id?: string or null',
    ]);
  });

  it('has the query of the list and the read receipt', () => {
    proves('messages.list.query', 'messages.read.request');
    expect(Object.keys(messages.listMessagesQuery.shape)).toEqual(['connectionId', 'limit', 'cursor']);
    expect(table(messages.readReceiptRequest)).toEqual([
      'connectionId: string',
      'phone?: string',
      'messageId?: string',
    ]);
    expect(table(messages.readReceiptAnswer)).toEqual(['ok: boolean', 'marked: integer']);
  });
});

describe('account and webhook', () => {
  it('has the counts of the account', () => {
    expect(table(account)).toEqual(['slots: object', 'connections: object']);
    expect(table(account.shape.slots)).toEqual([
      'total: integer',
      'used: integer',
      'available: integer',
      'nextExpiry: date-time or null',
    ]);
    expect(table(account.shape.connections)).toEqual([
      'total: integer',
      'connected: integer',
      'needsReconnect: integer',
    ]);
  });

  it('shows the secret where the specification shows it, and nowhere else', () => {
    expect(table(webhook.webhookAnswer)).toEqual([
      'url: string or null',
      'events: array',
      'secretSet: boolean',
    ]);
    expect(table(webhook.putWebhookRequest)).toEqual(['url: string']);
    expect(table(webhook.putWebhookAnswer)).toEqual(['url: string', 'events: array', 'secret: string']);
    expect(table(webhook.rotateWebhookAnswer)).toEqual(['secret: string']);
  });
});

describe('events', () => {
  const connection = [
    'id: string',
    'phone_number: string',
    'label: string',
    'status: string',
    'needs_reconnect: boolean',
    'license_status: string',
    'license_expires: date-time or null',
    'reason: string or null',
  ];

  it('has the keys of message.received', () => {
    proves('events.received.exact', 'events.snake-case');
    proves('versioning.webhooks-snake-case');
    proves('choice.payload.exact');
    expect(table(events.messageReceivedEvent)).toEqual([
      'event: string',
      'connection_id: string',
      'message: object',
    ]);
    expect(table(events.messageReceivedEvent.shape.message)).toEqual([
      'id: string',
      'wa_id: string or null',
      'from: string',
      'text: string or null',
      'media_url: string or null',
      'media_type: string or null',
      'timestamp: integer',
    ]);
  });

  it('has the keys of message.status', () => {
    proves('events.status.exact', 'events.snake-case');
    proves('versioning.webhooks-snake-case');
    proves('choice.payload.exact');
    expect(table(events.messageStatusEvent)).toEqual([
      'event: string',
      'connection_id: string',
      'message: object',
    ]);
    expect(table(events.messageStatusEvent.shape.message)).toEqual([
      'id: string',
      'wa_id: string or null',
      'status: string',
      'timestamp: integer',
    ]);
  });

  it('has the keys of the two connection events, which contain no QR code', () => {
    proves('events.disconnected.exact', 'events.disconnected.no-qr', 'events.connected.payload');
    proves('versioning.webhooks-snake-case');
    proves('choice.payload.exact');
    for (const event of [events.connectionDisconnectedEvent, events.connectionConnectedEvent]) {
      expect(table(event)).toEqual([
        'event: string',
        'connection_id: string',
        'connection: object',
        'timestamp: integer',
      ]);
      expect(table(event.shape.connection)).toEqual(connection);
    }
  });

  it('combines one schema per event type', () => {
    expect(events.webhookEvent.options.map((option) => option.shape.event.value)).toEqual([
      ...events.EVENT_TYPES,
    ]);
  });
});
