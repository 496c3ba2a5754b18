import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseWebhookEvent } from '../../../src/contract/service/parse-event.ts';
import {
  readAccount,
  readConnectionDetail,
  readConnectionList,
  readCreatedConnection,
  readMessagePage,
  readReadReceipt,
  readRestart,
  readSend,
  readTokenAnswer,
  readWebhook,
} from '../../../src/contract/service/read-answers.ts';
import { disconnected, listed, received, status, stored } from './samples.ts';

/*
 * The shapes and fields of the specification. Whatever an optional field holds, nothing else of its shape is lost.
 */

interface Shape {
  readonly sample: object;
  readonly read: (value: unknown) => unknown;
  /** Where each optional field is in the sample and in what was read. */
  readonly optional: readonly string[];
}

const ABSENT = Symbol('absent');

const onlyItem = (read: { readonly items: readonly object[] }): object =>
  read.items[0] ?? expect.fail('the item was left out');

const message = {
  ...stored,
  waMessageId: 'wamid.1',
  mediaUrl: 'https://media.example/1',
  mediaType: 'image/png',
  errorMessage: 'none',
};
const reported = disconnected.connection;
const keys = (fields: object, ...others: string[]): string[] =>
  Object.keys(fields).filter((key) => !others.includes(key));
const within = (name: string, fields: readonly string[]): string[] =>
  fields.map((field) => `${name}.${field}`);

function event(value: unknown): unknown {
  const parsed = parseWebhookEvent(value);
  return parsed.kind === 'known' ? parsed.event : expect.fail(`the event is ${parsed.kind}`);
}

const SHAPES: Readonly<Record<string, Shape>> = {
  'message.received': {
    sample: put(
      put(received, 'message.media_url', 'https://media.example/1'),
      'message.media_type',
      'image/png',
    ),
    read: event,
    optional: within('message', ['wa_id', 'from', 'text', 'media_url', 'media_type', 'timestamp']),
  },
  'message.status': {
    sample: put(status, 'message.wa_id', 'wamid.2'),
    read: event,
    optional: within('message', ['wa_id', 'status', 'timestamp']),
  },
  'connection.disconnected': {
    sample: disconnected,
    read: event,
    optional: ['connection', 'timestamp', ...within('connection', keys(reported))],
  },
  'connection.connected': {
    sample: { ...disconnected, event: 'connection.connected' },
    read: event,
    optional: ['connection', 'timestamp', ...within('connection', keys(reported))],
  },
  'connection list item': {
    sample: listed,
    read: (value) => onlyItem(readConnectionList({ connections: [value] })),
    optional: keys(listed, 'id'),
  },
  'connection detail': {
    sample: {
      connection: {
        id: 'c1',
        status: 'connecting',
        phoneNumber: '15551234567',
        label: 'Front desk',
        provider: 'qr',
        licenseStatus: 'active',
        licenseExpires: '2026-01-01T00:00:00.000Z',
        qr: 'data:image/png;base64,AAAA',
      },
    },
    read: (value) => ({ connection: readConnectionDetail(value) }),
    optional: within('connection', [
      'status',
      'phoneNumber',
      'label',
      'provider',
      'licenseStatus',
      'licenseExpires',
      'qr',
    ]),
  },
  'created connection': {
    sample: { connection: { id: 'c1', status: 'connecting', qr: 'data:image/png;base64,AAAA' } },
    read: (value) => ({ connection: readCreatedConnection(value) }),
    optional: ['connection.status', 'connection.qr'],
  },
  message: {
    sample: message,
    read: (value) => onlyItem(readMessagePage({ messages: [value], nextCursor: null, hasMore: false })),
    optional: keys(message, 'id', 'connectionId'),
  },
  'page of messages': {
    sample: { messages: [message], nextCursor: 'k2', hasMore: true },
    read: (value) => ({ messages: readMessagePage(value).items }),
    optional: ['nextCursor', 'hasMore'],
  },
  'answer to a send': {
    sample: { messageId: 'm1', waMessageId: 'wamid.1', status: 'sent', persisted: true },
    read: readSend,
    optional: ['waMessageId', 'status', 'persisted'],
  },
  account: {
    sample: {
      slots: { total: 3, used: 1, available: 2, nextExpiry: '2026-01-01T00:00:00.000Z' },
      connections: { total: 1, connected: 1, needsReconnect: 0 },
    },
    read: readAccount,
    optional: [
      'slots',
      'connections',
      ...within('slots', ['total', 'used', 'available', 'nextExpiry']),
      ...within('connections', ['total', 'connected', 'needsReconnect']),
    ],
  },
  webhook: {
    sample: { url: 'https://crm.example/hook', events: ['message.received'], secretSet: true },
    read: readWebhook,
    optional: ['events', 'secretSet'],
  },
  restart: { sample: { ok: true, recreated: true }, read: readRestart, optional: ['ok', 'recreated'] },
  'read receipt': {
    sample: { ok: true, marked: 1 },
    read: (value) => ({ marked: readReadReceipt(value) }),
    optional: ['ok', 'marked'],
  },
  tokens: {
    sample: {
      access_token: 'a',
      token_type: 'Bearer',
      expires_in: 900,
      refresh_token: 'r',
      scope: 'messaging.read',
      id_token: 'i',
    },
    read: readTokenAnswer,
    optional: ['token_type', 'expires_in', 'refresh_token', 'scope', 'id_token'],
  },
};

const VALUES: readonly unknown[] = [
  ABSENT,
  null,
  '',
  ' ',
  0,
  7,
  -1,
  1.5,
  1e300,
  12_345_678_901_234,
  '7',
  'TRUE',
  'Delivered',
  'INBOUND',
  '2025-11-21 04:40:00+0000',
  '2025-11-21T04:40',
  '+15551234567',
  '160958311837878@lid',
  true,
  false,
  {},
  { id: 'x', nested: { deep: [1] } },
  [],
  ['a', null, 3],
  'x'.repeat(2_000_000),
  'nul \0 and half a pair \ud83d',
];

function put(source: object, path: string, value: unknown): object {
  const [key = '', ...rest] = path.split('.');
  const inner: unknown = Reflect.get(source, key);
  if (rest.length > 0) return { ...source, [key]: put(Object(inner), rest.join('.'), value) };
  const others = Object.entries(source).filter(([name]) => name !== key);
  return Object.fromEntries(value === ABSENT ? others : [...others, [key, value]]);
}

/** What was read, without one of its fields. */
const without = (value: unknown, path: string) =>
  JSON.stringify(put(Object(value), path, ABSENT), sortedKeys);
const sortedKeys = (_: string, value: unknown): unknown =>
  value === null || typeof value !== 'object' || Array.isArray(value)
    ? value
    : Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));

function at(value: unknown, path: string): unknown {
  return path.split('.').reduce<unknown>((inner, key) => Object(inner)[key] ?? null, value);
}

/** Undefined if nothing else was lost, otherwise what happened. */
function judge({ sample, read, optional: _ }: Shape, path: string, value: unknown): string | undefined {
  const whole = read(structuredClone(sample));
  try {
    const result = read(put(sample, path, value));
    if (without(result, path) !== without(whole, path)) return 'another field changed';
    const [held, expected] = [at(result, path), at(whole, path)];
    if (held !== null && expected !== null && typeof held !== typeof expected) return 'it has another type';
    return undefined;
  } catch (error) {
    return String(error).slice(0, 80);
  }
}

const CASES = Object.entries(SHAPES).flatMap(([name, shape]) =>
  shape.optional.map((path) => ({ name, shape, path })),
);

describe('an optional field', () => {
  it('can hold anything: 15 shapes, 81 fields, 26 values', () => {
    const lost = CASES.flatMap(({ name, shape, path }) =>
      VALUES.flatMap((value) => {
        const what = judge(shape, path, value);
        return what === undefined
          ? []
          : [`${name}, ${path}: ${String(JSON.stringify(value)).slice(0, 30)}: ${what}`];
      }),
    );
    expect(lost).toEqual([]);
    expect([Object.keys(SHAPES).length, CASES.length, VALUES.length]).toEqual([15, 81, 26]);
  });

  it('can hold any JSON', () => {
    const any = fc.tuple(fc.constantFrom(...CASES), fc.jsonValue());
    fc.assert(
      fc.property(any, ([{ shape, path }, value]) => judge(shape, path, value) === undefined),
      { numRuns: 2_000 },
    );
  });
});
