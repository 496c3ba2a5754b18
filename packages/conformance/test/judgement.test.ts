import { readFileSync } from 'node:fs';
import { PNG } from 'pngjs';
import encodeQr from 'qr';
import { describe, expect, it, vi } from 'vitest';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { readQr } from '../../../test/support/read-qr.ts';
import { signDelivery } from '../../certify/src/receiver/profile.ts';
import { Violation } from '../../certify/src/runner/check.ts';
import type { Exchange } from '../../certify/src/runner/exchange.ts';
import { deliveryChecks } from '../src/checks/deliveries.ts';
import { reply } from '../src/fixtures/deliveries.ts';
import { expectRefused } from '../src/service/judge.ts';
import { readPng } from '../src/service/png.ts';
import * as shape from '../src/service/shape.ts';
import { payloads } from '../src/service/spec-shapes.ts';

const TEXT = 'a code that a phone can read';

/** A picture of a code, as a service would generate it. */
function drawCode(): PNG {
  const modules = encodeQr(TEXT, 'raw', { scale: 4, border: 4 });
  const side = modules.length;
  const png = new PNG({ width: side, height: side });
  for (const [y, row] of modules.entries()) {
    for (const [x, dark] of row.entries())
      png.data.fill(dark ? 0 : 255, 4 * (y * side + x), 4 * (y * side + x) + 3);
  }
  for (let at = 3; at < png.data.length; at += 4) png.data[at] = 255;
  return png;
}

const toUri = (bytes: Buffer): string => `data:image/png;base64,${bytes.toString('base64')}`;

describe('a QR code picture', () => {
  const bytes = PNG.sync.write(drawCode());

  it('is valid if an independent reader finds the code in it', () => {
    const png = readPng(toUri(bytes));
    if (typeof png === 'string') throw new Error(png);
    expect(readQr(toUri(bytes))).toMatchObject({ text: TEXT, side: png.width });
    expect(png.height).toBe(png.width);
  });

  it.each([
    ['cut off', toUri(bytes.subarray(0, bytes.length - 20)), 'a truncated PNG'],
    [
      'altered',
      toUri(Buffer.from(bytes.map((byte, at) => (at === 60 ? byte ^ 1 : byte)))),
      'a PNG with a wrong checksum',
    ],
    ['another kind', toUri(Buffer.from('GIF89a')), 'bytes that do not start like a PNG'],
    ['a link', 'https://x.example/qr.png', 'not a data URI of a PNG'],
    [
      'too small',
      toUri(PNG.sync.write(new PNG({ width: 8, height: 8 }))),
      'an image of 8 by 8, which contains no code',
    ],
    ['nothing', undefined, 'not a data URI of a PNG'],
  ])('is refused when it is %s', (_, uri, why) => {
    expect(readPng(uri)).toBe(why);
  });
});

interface SignatureCase {
  readonly name: string;
  readonly secret: string;
  readonly timestamp_header: unknown;
  readonly signature_header: unknown;
  readonly body_utf8?: string;
  readonly body_base64?: string;
  readonly expect: string;
}

describe('a signature', () => {
  const file = new URL('../../../test/vectors/signature.json', import.meta.url);
  const { cases } = JSON.parse(readFileSync(file, 'utf8')) as { cases: SignatureCase[] };
  const plain = cases.filter(
    (one) =>
      one.expect === 'valid' &&
      typeof one.timestamp_header === 'string' &&
      typeof one.signature_header === 'string',
  );

  it.each(plain.map((one) => [one.name, one] as const))(
    'equals the signature in the vectors: %s',
    (_, one) => {
      const body =
        one.body_base64 === undefined
          ? Buffer.from(one.body_utf8 ?? '')
          : Buffer.from(one.body_base64, 'base64');
      const signed = signDelivery(one.secret, String(one.timestamp_header), body);
      expect(signed).toBe(String(one.signature_header).toLowerCase());
    },
  );

  it('is compared with at least eleven vectors', () => {
    expect(plain.length).toBeGreaterThan(10);
  });
});

describe('a shape', () => {
  const person = shape.object({
    name: shape.filled,
    age: shape.orNull(shape.count),
    born: shape.open(shape.dateTime),
  });
  const comparison = (value: unknown) => {
    const { faults, extras } = shape.compareShape(value, shape.object({ people: shape.listOf(person) }));
    return { faults: faults.map(({ path, actual }) => `${path}: ${actual}`), extras };
  };

  it('accepts a value that fits, and reports additional fields', () => {
    const value = {
      people: [
        { name: 'A', age: null, shoe: 44 },
        { name: 'B', age: 3, born: '2026-01-15T12:00:00+01:00' },
      ],
      at: 1,
    };
    expect(comparison(value)).toEqual({ faults: [], extras: ['people[].shoe', 'at'] });
  });

  it('reports the path and the value of each mismatch', () => {
    expect(comparison({ people: [{ name: '', age: 1.5, born: 'yesterday' }, 7] }).faults).toEqual([
      'people[0].name: ""',
      'people[0].age: 1.5',
      'people[0].born: "yesterday"',
      'people[1]: 7',
    ]);
    expect(comparison({ people: [{}] }).faults).toEqual([
      'people[0].name: nothing',
      'people[0].age: nothing',
    ]);
    expect(comparison([]).faults).toEqual(['the body: an array of 0']);
  });

  it.each([
    [shape.digits, '4915112345678', '+4915112345678'],
    [shape.digits, '49151', '49151 1'],
    [shape.uri, 'https://x.example/a.png', 'picture'],
    [shape.dateTime, '2026-01-15T12:00:00.000Z', '2026-01-15'],
    [shape.dateTime, '2026-01-15T12:00:00Z', '2026-13-45T99:00:00Z'],
    [shape.epochMs, 1_763_700_000_000, 1_763_700_000],
    [shape.count, 0, '0'],
    [shape.flag, false, 'false'],
    [shape.yes, true, 1],
    [shape.oneOf(['qr', 'cloud_api']), 'qr', 'QR'],
  ] as const)('accepts a valid value and rejects an invalid one (%#)', (one, good, bad) => {
    const exchange = (json: unknown) => ({ json }) as Exchange;
    const demand = (shown: Exchange) => () => shape.demandShape(shown, one, { note: () => undefined });
    expect(demand(exchange(good))).not.toThrow();
    const shown = exchange(bad);
    expect(demand(shown)).toThrow(expect.toSatisfy((error) => (error as Violation).exchange === shown));
  });
});

it.each([
  [399, false],
  [400, true],
  [499, true],
  [500, false],
])('status %d refuses what a client has sent: %s', (status, isRefusal) => {
  const judge = () => expectRefused({ status, json: undefined, text: '' } as Exchange, 'a number');
  if (isRefusal) expect(judge).not.toThrow();
  else expect(judge).toThrow(Violation);
});

it('a reply of the recipient may take as long as its option says, besides the timeout of the check', async () => {
  const extend = vi.fn();
  const event = { json: { event: 'message.received', message: { from: '447700900301' } } };
  const context = {
    once: (what: string, make: () => unknown) => (what === 'a delivery' ? undefined : make()),
    inputs: { recipient: '447700900301', awaitReplyMs: 90_000 },
    clock: new ManualClock(),
    journal: { current: () => ({ extend, signal: new AbortController().signal }) },
    listener: () => ({ until: async (find: (requests: readonly object[]) => unknown) => find([event]) }),
  };
  expect(await reply(context as never)).toBe(event);
  expect(extend).toHaveBeenCalledWith(90_000);
});

describe('what the specification leaves open', () => {
  it('is any content of connection.connected', () => {
    const event = { event: 'connection.connected', connection_id: 'c1' };
    const connection = { id: 'c1', status: 'connected', needs_reconnect: false };
    const judged = (value: object) =>
      shape.compareShape(value, payloads['connection.connected'] ?? shape.flag).faults.length;
    expect(judged(event)).toBe(0);
    expect(judged({ ...event, connection })).toBe(0);
    expect(judged({ ...event, connection: { ...connection, needs_reconnect: 'no' } })).toBe(1);
  });

  it.each([
    ['waits of 500 ms and 1 s', [0, 510, 1_520], true],
    ['attempts 500 ms and 1 s after the first', [0, 500, 1_000], true],
    ['attempts without a wait', [0, 10, 20], false],
  ])('is what the delays of attempts count from: %s', async (_, times, isRight) => {
    const attempts = times.map((at) => ({ at, answeredAt: at + 8, headers: {}, body: Buffer.alloc(0) }));
    const context = { once: async () => ({ attempts }), journal: { recall: () => undefined } };
    const check = deliveryChecks.find(({ id }) => id === 'delivery.delays');
    const judged = check?.run(context as never, { note: () => undefined } as never);
    if (isRight) await judged;
    else await expect(judged).rejects.toThrow(Violation);
  });
});
