import { describe, expect, it } from 'vitest';
import type { z } from 'zod';
import { createApiKeyRequest, createWorkspaceRequest } from '../../../src/contract/sandbox/access.ts';
import { advanceClockRequest, advancedClock, timing } from '../../../src/contract/sandbox/clock.ts';
import { addConnectionRequest, OUTAGE_CAUSES } from '../../../src/contract/sandbox/connections.ts';
import {
  contactWritesRequest,
  phoneMessage,
  putContactRequest,
} from '../../../src/contract/sandbox/contacts.ts';
import {
  DELIVERY_OUTCOMES,
  delivery,
  deliveryAttempt,
  deliveryList,
  ledgerEntry,
  listDeliveriesQuery,
  putHostRequest,
  resendRequest,
} from '../../../src/contract/sandbox/deliveries.ts';
import { FAULT_ACTIONS } from '../../../src/contract/sandbox/fault-actions.ts';
import { faultAction } from '../../../src/contract/sandbox/faults.ts';
import { sandboxInfo } from '../../../src/contract/sandbox/info.ts';

function issuePath(schema: z.ZodType, value: unknown): string | undefined {
  return schema.safeParse(value).error?.issues[0]?.path.join('.');
}

describe('answers', () => {
  it('have the documented fields', () => {
    expect(Object.keys(sandboxInfo.shape)).toEqual([
      'baseUrl',
      'legacyBaseUrl',
      'authUrl',
      'mcpUrl',
      'sandboxUrl',
      'connectorUrl',
      'connectorToken',
      'workspaceId',
      'apiKey',
      'selfCheckWorkspaceId',
      'webhookUrl',
      'now',
    ]);
    expect(Object.keys(ledgerEntry.shape)).toEqual([
      'seq',
      'at',
      'event',
      'connectionId',
      'messageId',
      'status',
      'payload',
    ]);
    expect(Object.keys(delivery.shape)).toEqual([
      'id',
      'copyOf',
      'event',
      'workspaceId',
      'connectionId',
      'messageId',
      'subscription',
      'url',
      'outcome',
      'reason',
      'held',
      'createdAt',
      'headers',
      'body',
      'attempts',
    ]);
    expect(Object.keys(deliveryAttempt.shape)).toEqual(['at', 'ms', 'status', 'response', 'error', 'faults']);
    expect(Object.keys(phoneMessage.shape)).toEqual([
      'messageId',
      'connectionId',
      'from',
      'text',
      'media',
      'at',
    ]);
    expect(Object.keys(advancedClock.shape)).toEqual(['now', 'fired']);
    expect(Object.keys(advancedClock.shape.fired.element.shape)).toEqual(['at', 'what', 'id']);
    expect(Object.keys(deliveryList.shape)).toEqual(['entries', 'nextCursor']);
    expect(DELIVERY_OUTCOMES).toEqual(['pending', 'delivered', 'dropped']);
    expect(OUTAGE_CAUSES).toEqual([
      'session_lost',
      'phone_off',
      'session_ageing',
      'opened_elsewhere',
      'zombie',
    ]);
  });
});

describe('requests', () => {
  it('reject an unknown field by name, so that a typo is noticed', () => {
    const issue = createWorkspaceRequest.safeParse({ kind: 'standalone', slot: 3 }).error?.issues[0];
    expect(issue).toMatchObject({ code: 'unrecognized_keys', keys: ['slot'] });
  });

  it('create workspaces, keys and connections', () => {
    expect(createWorkspaceRequest.safeParse({ kind: 'crm_portal', slots: 5 }).success).toBe(true);
    expect(issuePath(createWorkspaceRequest, { kind: 'other' })).toBe('kind');
    expect(createApiKeyRequest.safeParse({}).success).toBe(true);
    expect(issuePath(createApiKeyRequest, { scopes: ['messaging.write'] })).toBe('scopes.0');
    const connection = { provider: 'qr', phoneNumber: '15551234567' };
    expect(addConnectionRequest.safeParse(connection).success).toBe(true);
    expect(issuePath(addConnectionRequest, { ...connection, phoneNumber: '+1555' })).toBe('phoneNumber');
  });

  it('move time by a duration or to an instant, never back', () => {
    expect(advanceClockRequest.safeParse({ ms: 0 }).success).toBe(true);
    expect(advanceClockRequest.safeParse({ to: '2030-01-01T00:00:00Z' }).success).toBe(true);
    for (const wrong of [
      {},
      { ms: 1, to: '2030-01-01T00:00:00Z' },
      { ms: -1 },
      { ms: 1.5 },
      { to: 'later' },
    ]) {
      expect(advanceClockRequest.safeParse(wrong).success).toBe(false);
    }
    expect(timing.safeParse({ sendScale: 0.02 }).success).toBe(true);
    expect(issuePath(timing, { sendScale: -1 })).toBe('sendScale');
  });

  it('set how a person behaves; null means never', () => {
    expect(putContactRequest.safeParse({ readAfterMs: null, deliverAfterMs: 100 }).success).toBe(true);
    expect(putContactRequest.safeParse({}).success).toBe(true);
    expect(issuePath(putContactRequest, { readAfterMs: -1 })).toBe('readAfterMs');
    expect(putContactRequest.safeParse({ onnetwork: true }).success).toBe(false);
    expect(contactWritesRequest.safeParse({ connectionId: 'c1', text: 'Hi' }).success).toBe(true);
    expect(contactWritesRequest.safeParse({ connectionId: 'c1' }).success).toBe(false);
  });

  it('filter deliveries and open tunnels', () => {
    expect(listDeliveriesQuery.parse({ outcome: 'dropped' })).toEqual({ outcome: 'dropped', limit: 100 });
    expect(issuePath(listDeliveriesQuery, { outcome: 'lost' })).toBe('outcome');
    expect(putHostRequest.safeParse({ target: 'http://127.0.0.1:4020' }).success).toBe(true);
    expect(issuePath(putHostRequest, { target: 'ftp://127.0.0.1' })).toBe('target');
    expect(resendRequest.safeParse({ resign: true, times: 3 }).success).toBe(true);
    expect(issuePath(resendRequest, { times: 0 })).toBe('times');
  });
});

describe('fault rules', () => {
  it('allow the actions of each surface', () => {
    expect(FAULT_ACTIONS.webhook).toEqual([
      'drop',
      'duplicate',
      'delay',
      'reorder',
      'tamper_body',
      'tamper_signature',
      'stale_timestamp',
      'truncate',
      'slow',
    ]);
    expect([...FAULT_ACTIONS.api].sort()).toEqual([
      'delay',
      'lost_answer',
      'not_persisted',
      'reset',
      'status',
    ]);
    const known = new Set(Object.values(FAULT_ACTIONS).flat());
    expect(new Set(faultAction.options.map((option) => option.shape.type.value))).toEqual(known);
  });
});
