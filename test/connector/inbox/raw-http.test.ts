import { beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../../src/runtime/clock/system-clock.ts';
import { type LoadEvent, planLoad } from '../../support/load-plan.ts';
import { signDelivery } from '../../support/load-sender.ts';
import { ofFile } from '../../support/of-file.ts';
import { exchangeRaw, openRaw } from '../../support/raw-exchange.ts';
import { readStoredState } from '../../support/read-connector.ts';
import { runTestConnector } from '../../support/run-test-connector.ts';

const connector = ofFile(runTestConnector);
let port: number;
beforeAll(async () => {
  port = Number(new URL(connector.url).port);
});

const events = planLoad({ seed: 6, messages: 400, startAt: Date.UTC(2026, 0, 15, 12) })
  .filter(({ event }) => event === 'message.received')
  .values();
function nextEvent(): LoadEvent {
  const { value } = events.next();
  if (value === undefined) throw new Error('the plan is used up');
  return value;
}

async function stored({ messageId }: LoadEvent): Promise<boolean> {
  await connector.settle();
  const { messages } = await readStoredState(connector.databaseUrl);
  return messages.some(({ id }) => id === messageId);
}

interface Form {
  readonly name: string;
  /** The header lines that frame the body, and the body as it is sent. */
  readonly frame: (body: Buffer) => { readonly lines: string; readonly wire: Buffer };
}

const chunked = (body: Buffer, size = body.length.toString(16), end = '0\r\n\r\n'): Buffer =>
  Buffer.concat([Buffer.from(`${size}\r\n`), body, Buffer.from(`\r\n${end}`)]);
const framed = (lines: (length: number) => string, wire = (body: Buffer): Buffer => body) => {
  return (body: Buffer) => ({ lines: lines(body.length), wire: wire(body) });
};

/** Framing that a proxy and a server behind it may read differently. None may be accepted. */
const AMBIGUOUS: readonly Form[] = [
  {
    name: 'a length and chunks',
    frame: framed((n) => `Content-Length: ${n}\r\nTransfer-Encoding: chunked`, chunked),
  },
  {
    name: 'chunks and a length',
    frame: framed((n) => `Transfer-Encoding: chunked\r\nContent-Length: ${n}`, chunked),
  },
  {
    name: 'two lengths that differ',
    frame: framed((n) => `Content-Length: ${n}\r\nContent-Length: ${n - 1}`),
  },
  { name: 'two equal lengths', frame: framed((n) => `Content-Length: ${n}\r\nContent-Length: ${n}`) },
  { name: 'a list of lengths', frame: framed((n) => `Content-Length: ${n}, ${n}`) },
  { name: 'a length with a sign', frame: framed((n) => `Content-Length: +${n}`) },
  { name: 'a negative length', frame: framed((n) => `Content-Length: -${n}`) },
  { name: 'a hexadecimal length', frame: framed((n) => `Content-Length: 0x${n.toString(16)}`) },
  { name: 'a length with a fraction', frame: framed((n) => `Content-Length: ${n}.0`) },
  { name: 'an empty length', frame: framed(() => 'Content-Length:') },
  { name: 'a length beyond all numbers', frame: framed((n) => `Content-Length: ${2n ** 64n + BigInt(n)}`) },
  { name: 'a space before the colon', frame: framed((n) => `Content-Length : ${n}`) },
  { name: 'a folded length', frame: framed((n) => `Content-Length:\r\n ${n}`) },
  { name: 'a NUL in a header', frame: framed((n) => `Content-Length: ${n}\r\nX-Any: a\0b`) },
  { name: 'a lone line feed in a header', frame: framed((n) => `X-Any: a\nContent-Length: ${n}`) },
  { name: 'a lone carriage return in a header', frame: framed((n) => `X-Any: a\rContent-Length: ${n}`) },
  { name: 'an encoding that is not chunked', frame: framed(() => 'Transfer-Encoding: identity') },
  {
    name: 'chunks that something follows',
    frame: framed(() => 'Transfer-Encoding: chunked, identity', chunked),
  },
  { name: 'an encoding that is nearly chunked', frame: framed(() => 'Transfer-Encoding: xchunked', chunked) },
  {
    name: 'chunks twice',
    frame: framed(() => 'Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked', chunked),
  },
  {
    name: 'a chunk size with a prefix',
    frame: framed(
      () => 'Transfer-Encoding: chunked',
      (body) => chunked(body, `0x${body.length.toString(16)}`),
    ),
  },
  {
    name: 'a chunk size with a sign',
    frame: framed(
      () => 'Transfer-Encoding: chunked',
      (body) => chunked(body, `+${body.length.toString(16)}`),
    ),
  },
  {
    name: 'a chunk size beyond all numbers',
    frame: framed(
      () => 'Transfer-Encoding: chunked',
      (body) => chunked(body, `f${body.length.toString(16).padStart(16, '0')}`),
    ),
  },
  {
    name: 'a chunk size that is too small',
    frame: framed(
      () => 'Transfer-Encoding: chunked',
      (body) => chunked(body, (body.length - 3).toString(16)),
    ),
  },
];

describe('a signed delivery whose length is ambiguous', () => {
  test.each(AMBIGUOUS)('is rejected for $name, together with what follows it', async ({ frame }) => {
    const event = nextEvent();
    const { socket, closed } = openRaw(port);
    socket.write(request(event, frame));
    // A smuggled request must not be answered.
    socket.write('GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n');
    const { statuses, received } = await closed;
    expect(statuses).toEqual([400]);
    expect(received).not.toContain('{"ok":true}');
    expect(await stored(event)).toBe(false);
  });

  test('is accepted if its length is unambiguous (positive control)', async () => {
    const plain = nextEvent();
    const inChunks = nextEvent();
    const length = framed((n) => `Content-Length: ${n}`);
    const chunks = framed(() => 'Transfer-Encoding: chunked', chunked);
    const { statuses } = await exchangeRaw(
      port,
      request(plain, length),
      request(inChunks, chunks),
      'GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n',
    );
    expect(statuses).toEqual([200, 200, 200]);
    expect([await stored(plain), await stored(inChunks)]).toEqual([true, true]);
  });
});

describe('duplicate or malformed signature headers', () => {
  const FORMS: readonly { name: string; lines: (headers: Record<string, string>) => string }[] = [
    { name: 'two valid signatures', lines: (h) => `${line(h, 0)}\r\n${line(h, 1)}\r\n${line(h, 1)}` },
    {
      name: 'a bad signature first',
      lines: (h) => `${line(h, 0)}\r\nX-Service-Signature: sha256=00\r\n${line(h, 1)}`,
    },
    {
      name: 'a bad signature last',
      lines: (h) => `${line(h, 0)}\r\n${line(h, 1)}\r\nX-Service-Signature: sha256=00`,
    },
    { name: 'two timestamps', lines: (h) => `${line(h, 0)}\r\n${line(h, 0)}\r\n${line(h, 1)}` },
    { name: 'underscores for hyphens', lines: (h) => `${line(h, 0)}\r\n${line(h, 1).replaceAll('-', '_')}` },
    { name: 'the signature as a trailer', lines: (h) => `${line(h, 0)}\r\nTrailer: X-Service-Signature` },
  ];
  test.each(FORMS)('are rejected: $name', async ({ lines }) => {
    const event = nextEvent();
    const headers = signDelivery(event.body, connector.secret, systemClock.now());
    const body = Buffer.from(event.body);
    const { statuses } = await exchangeRaw(
      port,
      `POST /webhooks/messaging HTTP/1.1\r\nHost: test\r\nConnection: close\r\n${lines(headers)}\r\nTransfer-Encoding: chunked\r\n\r\n`,
      chunked(body, body.length.toString(16), `0\r\n${line(headers, 1)}\r\n\r\n`),
    );
    expect(statuses).toEqual([401]);
    expect(await stored(event)).toBe(false);
  });
});

function request(event: LoadEvent, frame: Form['frame']): Buffer {
  const headers = signDelivery(event.body, connector.secret, systemClock.now());
  const { lines, wire } = frame(Buffer.from(event.body));
  const head = `POST /webhooks/messaging HTTP/1.1\r\nHost: test\r\n${line(headers, 0)}\r\n${line(headers, 1)}\r\n${lines}\r\n\r\n`;
  return Buffer.concat([Buffer.from(head, 'latin1'), wire]);
}

/** The timestamp (0) or the signature (1) as a header line. */
function line(headers: Record<string, string>, place: 0 | 1): string {
  const name = place === 0 ? 'X-Service-Timestamp' : 'X-Service-Signature';
  return `${name}: ${headers[name]}`;
}
