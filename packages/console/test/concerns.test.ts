import { describe, expect, it } from 'vitest';
import { HEALTH } from '../../../src/connector/state/health.ts';
import {
  CONNECTION_CONCERNS,
  connectionConcern,
  connectorConcerns,
  laneConcerns,
} from '../src/screens/overview/concerns.ts';
import { REMEDIES } from '../src/screens/sync/remedies.ts';

const QUIET = {
  webhooks: [
    {
      subscription: { kind: 'workspace' as const, id: 'cworkspace' },
      url: 'https://crm.example.com/hook',
      changedAt: '2026-01-15T12:00:00.000Z',
      lastDeliveries: [],
    },
  ],
  held: 0,
  faults: { seed: 1, rules: [] },
  isFrozen: false,
};

const [webhook] = QUIET.webhooks;
const withLast = (last: {
  readonly outcome: 'delivered' | 'dropped' | 'pending';
  status?: number;
  error?: string;
}) => {
  const delivery = {
    id: '7',
    event: 'message.received' as const,
    createdAt: '2026-01-15T12:00:00.000Z',
    ...last,
  };
  return laneConcerns({
    ...QUIET,
    webhooks: webhook === undefined ? [] : [{ ...webhook, lastDeliveries: [delivery] }],
  });
};

const connection = (label: string) => ({
  id: 'cone',
  workspaceId: 'cworkspace',
  phoneNumber: '447700900101',
  label,
  provider: 'qr' as const,
  status: 'disconnected' as const,
  licenseStatus: 'active' as const,
  licenseExpires: null,
  needsReconnect: true,
  outage: null,
});

describe('the concerns of webhooks', () => {
  it('are none while webhooks are quiet or accepted their last delivery', () => {
    expect(laneConcerns(QUIET)).toEqual([]);
    expect(withLast({ outcome: 'delivered', status: 200 })).toEqual([]);
    expect(withLast({ outcome: 'pending' })).toEqual([]);
  });

  it('include a refused signature, with a link to the refused deliveries', () => {
    expect(withLast({ outcome: 'dropped', status: 401 })).toMatchObject([
      {
        tone: 'bad',
        title: 'A webhook refuses the signature: 401',
        to: '/deliveries',
        q: 'webhook:cworkspace !status:delivered',
      },
    ]);
  });

  it.each([
    [{ outcome: 'dropped', error: 'connection refused' }, 'A webhook fails: connection refused'],
    [{ outcome: 'pending', status: 500 }, 'A webhook fails: 500'],
  ] as const)('include the failing receiver after %j', (last, title) => {
    expect(withLast(last)).toMatchObject([{ tone: 'bad', title, to: '/deliveries' }]);
  });

  it('exclude a receiver whose last delivery was dropped by a fault', () => {
    expect(withLast({ outcome: 'dropped', error: 'dropped' })).toEqual([]);
  });

  it('include a missing webhook, held deliveries, armed faults and frozen time', () => {
    const rule = {
      id: 'lost',
      match: { surface: 'webhook' as const },
      action: { type: 'drop' as const },
      hits: 1,
    };
    const lane = { webhooks: [], held: 2, faults: { seed: 1, rules: [rule] }, isFrozen: true };
    expect(laneConcerns(lane).map(({ title, hint }) => `${title}: ${hint}`)).toEqual([
      'No webhook is set: Every event is dropped until PUT /webhook sets an address.',
      '2 deliveries held: Nothing is sent until you release them.',
      '1 fault rule armed: lost (1 hit)',
      'Virtual time stands still: Nothing falls due until it is moved or runs again.',
    ]);
  });
});

describe('the concerns of connections', () => {
  const [reconnect] = CONNECTION_CONCERNS;
  const concern = (labels: readonly string[], nextCursor?: string) =>
    reconnect === undefined
      ? null
      : connectionConcern(reconnect, { entries: labels.map(connection), nextCursor });

  it('name the first connections and count the rest', () => {
    expect(concern([])).toBeNull();
    expect(concern(['Sales'])).toEqual({
      tone: 'bad',
      title: '1 number must be paired again',
      hint: 'Sales. Restart it and scan a new QR code.',
      to: '/connections',
      q: 'reconnect:yes',
    });
    expect(concern(['A', 'B', 'C'])?.hint).toBe('A, B, C. Restart it and scan a new QR code.');
    expect(concern(['A', 'B', 'C', 'D', ''])).toMatchObject({
      title: '5 numbers must be paired again',
      hint: 'A, B, C and 2 more. Restart it and scan a new QR code.',
    });
    expect(concern(['A', 'B', 'C', 'D', 'E', 'F'], 'more')).toMatchObject({
      title: '6 or more numbers must be paired again',
      hint: 'A, B, C and 3 or more. Restart it and scan a new QR code.',
    });
  });
});

describe('the concerns of a connector', () => {
  const account = { id: 'a1', label: 'Acme', state: 'active', secretInDoubt: false };
  const concerns = (given: object, count = 0, lastPoll: object | null = null, pollOverdue = false) =>
    connectorConcerns({
      accounts: [{ ...account, ...given }],
      sync: { accounts: [{ lastPoll, pollOverdue }] },
      deadLetters: { count, hasMore: count === 100 },
    } as never).map(({ title, to }) => [title, to]);

  it('are none while it works', () => {
    expect(concerns({})).toEqual([]);
    expect(concerns({}, 0, { ok: true, error: null })).toEqual([]);
  });

  it('name the numbers that must be paired again', () => {
    const connections = [{ id: 'c1', label: 'Front desk', phoneNumber: '447700900101' }];
    const [more] = connectorConcerns({ broken: { connections, hasMore: true } } as never);
    expect(more?.title).toBe('1 or more numbers must be paired again');
    expect(connectorConcerns({ broken: { connections, hasMore: false } } as never)).toEqual([
      {
        tone: 'bad',
        title: '1 number must be paired again',
        hint: 'Front desk. Restart it and show its owner the QR code.',
        to: '/sync',
        hash: 'pair-again',
      },
    ]);
  });

  it('link to the screen where they can be resolved', () => {
    expect(concerns({}, 1)).toEqual([['1 dead letter', '/sync']]);
    expect(concerns({}, 100)).toEqual([['100 or more dead letters', '/sync']]);
    expect(concerns({ state: 'credential_refused' })).toEqual([['The service refuses an API key', '/sync']]);
    expect(concerns({ state: 'reauth_required' })).toEqual([['A customer must consent again', '/sync']]);
    expect(concerns({ secretInDoubt: true })).toEqual([['A signing secret is being replaced', '/sync']]);
    expect(concerns({}, 0, { ok: false, error: 'service_unreachable' })).toEqual([
      ['Polls fail: service_unreachable', '/sync'],
    ]);
    expect(concerns({}, 0, { ok: true, error: null }, true)).toEqual([['Polls are late', '/sync']]);
  });
});

it('a finding that the page resolves is one that the doctor has', () => {
  const codes = HEALTH.flatMap(({ code }) => code ?? []);
  expect(Object.keys(REMEDIES).filter((code) => !codes.includes(code))).toEqual([]);
});
