import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { databaseOfFile, readLog } from '../support/event-fixtures.ts';
import {
  deliver,
  exchange,
  type ReceiverFixture,
  rawRequest,
  signedLines,
  startReceiver,
  statusesOf,
} from '../support/receiver-fixture.ts';

const database = databaseOfFile();
let fixture: ReceiverFixture;

beforeAll(async () => {
  const http = { headersTimeoutMs: 500, requestTimeoutMs: 500, checkIntervalMs: 50 };
  fixture = await startReceiver(database, { http });
});
afterAll(async () => {
  await fixture.close();
});

/** Strings that break programs. */
const naughty = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.constantFrom(
    '\0',
    '\ud800',
    '\udfff\ud800',
    '\u202e',
    '\ufeff',
    "'; DROP TABLE connector.messages; --",
    '{"a":1}',
    '\\x00',
    '{NULL}',
    'NULL',
    '__proto__',
    'constructor',
    '👩‍👩‍👧‍👦',
    'x'.repeat(5_000),
  ),
);
const number = fc.oneof(
  fc.constantFrom(0, -0, -1, 8.64e15, 8.64e15 + 1, 2 ** 53, 2 ** 63, 1e300, -1e300, 253_402_300_799_999, 1.5),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
);
const leaf = fc.oneof(naughty, number, fc.boolean(), fc.constant(null), fc.constant([]), fc.constant({}));
const word = (...expected: string[]) =>
  fc.oneof({ weight: 3, arbitrary: fc.constantFrom(...expected) }, leaf);
const id = word('message-1', 'message-2');

const event = fc.record(
  {
    event: word('message.received', 'message.status', 'connection.disconnected', 'connection.connected'),
    connection_id: word('connection-1', 'connection-2'),
    message: fc.oneof(
      leaf,
      fc.record(
        {
          id,
          wa_id: leaf,
          from: word('15551234567'),
          text: naughty,
          media_url: leaf,
          media_type: leaf,
          status: word('sent', 'delivered', 'read', 'failed'),
          timestamp: fc.oneof({ weight: 2, arbitrary: fc.integer({ min: 1, max: 2 ** 41 }) }, number),
        },
        { requiredKeys: ['id', 'timestamp'] },
      ),
    ),
    connection: fc.oneof(
      leaf,
      fc.record(
        {
          phone_number: leaf,
          label: leaf,
          status: leaf,
          needs_reconnect: fc.boolean(),
          reason: leaf,
          license_expires: leaf,
        },
        { requiredKeys: [] },
      ),
    ),
    timestamp: fc.oneof(fc.integer({ min: 1, max: 2 ** 41 }), number, leaf),
    __proto__: leaf,
  },
  { requiredKeys: ['event'] },
);

const body = fc.oneof(
  { weight: 6, arbitrary: event.map((value) => Buffer.from(JSON.stringify(value))) },
  { weight: 1, arbitrary: fc.json().map((text) => Buffer.from(text)) },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)) },
  {
    weight: 2,
    arbitrary: fc.tuple(event, fc.nat()).map(([value, cut]) => {
      const bytes = Buffer.from(JSON.stringify(value));
      return bytes.subarray(0, cut % (bytes.length + 1));
    }),
  },
);

const bytesOf = (value: unknown): Buffer<ArrayBuffer> => Buffer.from(JSON.stringify(value));
const FITTING = bytesOf({
  event: 'message.status',
  connection_id: 'connection-1',
  message: { id: 'message-1', wa_id: null, status: 'sent', timestamp: 1_768_478_400_000 },
});
const MISFITTING = bytesOf({ event: 'message.status', connection_id: 'connection-1' });

describe('any signed body', () => {
  it('is answered with 200 and stored, or with 400, and never with a 5xx', async () => {
    let kept = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(body, { minLength: 1, maxLength: 20 }), async (bodies) => {
        const answers = await Promise.all(bodies.map((bytes) => deliver(fixture.server, bytes)));
        for (const { status } of answers) expect([200, 400]).toContain(status);
        kept += answers.filter(({ status }) => status === 200).length;
      }),
      // Chance alone may draw no event that fits, or only such.
      { numRuns: 60, examples: [[[FITTING, MISFITTING]]] },
    );
    const log = await readLog(database);
    expect(log).toHaveLength(kept);
    expect(new Set(log.map((row) => row.outcome))).toContain('invalid');
    expect(new Set(log.map((row) => row.outcome))).toContain('merged');
    expect(log.map((row) => row.outcome)).not.toContain('unmergeable');
  });
});

const target = fc.constantFrom(
  '/webhooks/messaging',
  '/webhooks/messaging/sub-1',
  '/webhooks/messaging/%00',
  '/webhooks/messaging/%',
  '/webhooks/messaging//',
  '/webhooks/messaging/../../etc/passwd',
  'http://connector/webhooks/messaging',
  '/webhooks/messaging?x=%zz',
);
const goodBody = '{"event":"test.unknown"}';
const length = String(goodBody.length);
const header = fc.oneof(
  fc.constantFrom(
    'Content-Length: 0',
    'Content-Length: 99999999999999999999',
    'Content-Length: -1',
    'Content-Length: 1, 1',
    'Content-Length : 5',
    'Transfer-Encoding: chunked',
    'Transfer-Encoding: xchunked',
    'Transfer-Encoding: chunked, identity',
    'Transfer-Encoding: identity',
    'Content-Encoding: gzip',
    'Content-Type: multipart/form-data',
    'Content-Type: application/json; charset=utf-7',
    'Expect: 100-continue',
    'Expect: 200-maybe',
    'Connection: keep-alive',
    'Connection: upgrade\r\nUpgrade: websocket',
    'Upgrade: h2c',
    'X-Service-Timestamp:',
    'X-Service-Signature: sha256=',
    'X-Service-Timestamp: 1700000000000, 1700000000000',
    'Host: a\r\nHost: b',
    ' folded: header',
    'No colon here',
    'X-Null: \0',
  ),
  fc.string({ maxLength: 60 }).map((text) => `X-Any: ${text}`),
  fc.constant(`X-Long: ${'x'.repeat(20_000)}`),
);
const tail = fc.oneof(
  fc.constant(goodBody),
  fc.constant(''),
  fc.constant('5\r\n{"ev\r\n0\r\n\r\n'),
  fc.constant('zz\r\nnot a chunk'),
  fc.constant(`${goodBody}GET / HTTP/1.1\r\nHost: x\r\n\r\n`),
  fc.string({ unit: 'binary', maxLength: 100 }),
);

const raw = fc.record({
  path: target,
  headers: fc.array(header, { maxLength: 3 }),
  signed: fc.boolean(),
  rest: tail,
});

function write({
  path,
  headers,
  signed,
  rest,
}: typeof raw extends fc.Arbitrary<infer T> ? T : never): Promise<string> {
  const signature = signedLines(goodBody);
  const framed = headers.some((line) => /^(content-length|transfer)/i.test(line));
  const lines = [...(signed ? signature : []), ...(framed ? [] : [`Content-Length: ${length}`]), ...headers];
  return exchange(fixture.server, [rawRequest(rest, [...lines, 'Connection: close'], path)]);
}

describe('any bytes on the socket', () => {
  it('are refused or accepted, never answered with a 5xx, and the next sender is served', {
    timeout: 60_000,
  }, async () => {
    const seen = new Set<number>();
    await fc.assert(
      fc.asyncProperty(fc.array(raw, { minLength: 40, maxLength: 40 }), async (requests) => {
        for (const code of (await Promise.all(requests.map(write))).flatMap(statusesOf)) {
          seen.add(code);
          expect(code).toBeLessThan(500);
        }
      }),
      { numRuns: 12 },
    );
    for (const code of [200, 400, 401, 404]) expect(seen).toContain(code);
    await fixture.receiver.settle();
    expect((await deliver(fixture.server, goodBody)).status).toBe(200);
  });
});
