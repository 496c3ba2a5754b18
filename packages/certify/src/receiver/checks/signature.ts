import { otherSecret } from '../context.ts';
import type { Header } from '../profile.ts';
import { onWire, type WireCheck } from '../receiver-check.ts';

const SECTION = 'Delivery and signature';
const PATTERN = 'src/patterns/verify-signature.ts shows it.';
const RAW = `Verify the bytes as they were received, before any parser or decoder, and parse them afterwards: express.raw({ type: () => true, limit: '1mb' }), request.rawBody, or Fastify's addContentTypeParser with parseAs "buffer". ${PATTERN}`;
const HEADERS = `Check both headers before you compare: exactly one value of each (in Node, req.headersDistinct), the timestamp as digits, the signature as its prefix and the whole digest. ${PATTERN}`;
const TIME = `Compare the signed timestamp with your clock, in both directions, and refuse more than 5 minutes; X-Service-Timestamp is in milliseconds. ${PATTERN}`;

/** A delivery whose JSON looks different once it is parsed and serialized again. */
function raw(id: string, rule: string, write: (json: string) => string): WireCheck {
  return {
    id: `signature.raw-bytes.${id}`,
    rule,
    hint: RAW,
    run: ({ accepts, events }) =>
      accepts({ body: write(JSON.stringify(events.received())), as: `signed delivery with ${id}` }),
  };
}

/** Adds a field that receivers ignore. */
const withField = (field: string) => (json: string) => json.replace(/\}$/, `,${field}}`);

/** A delivery with other signature headers than the service sends. */
function wrongHeaders(
  id: string,
  rule: string,
  as: string,
  change: (signed: readonly Header[], signature: Header) => readonly Header[],
): WireCheck {
  return {
    id: `signature.${id}`,
    rule,
    hint: HEADERS,
    run: ({ refuses, events, inputs: { profile } }) =>
      refuses({
        body: events.received(),
        as,
        headers(signed) {
          const signature = signed.find(([name]) => name === profile.signatureHeader) ?? ['', ''];
          return change(signed, signature);
        },
      }),
  };
}

const without = (signed: readonly Header[], name: string): readonly Header[] =>
  signed.filter(([other]) => other !== name);

/** Replaces the value of the signature. */
const withValue =
  (write: (value: string) => string) =>
  (signed: readonly Header[], [name, value]: Header) =>
    signed.map((header): Header => (header[0] === name ? [name, write(value)] : header));

const MINUTE_MS = 60_000;
/** The digest of another text. */
const otherDigest = (value: string): string =>
  value.replace(/[0-9a-zA-Z]/g, (char) => (/\d/.test(char) ? String(9 - Number(char)) : char));

export const signatureChecks = onWire(SECTION, [
  raw(
    'white-space',
    'White space in the body is part of what is signed.',
    (json) => `${json.replaceAll(',', ' ,\n  ')}\n`,
  ),
  raw('escapes', 'A character may be written as an escape.', (json) =>
    json.replace('"certify"', '"Gr\\u00fc\\u00dfe \\/ \\ud83d\\udc4b"'),
  ),
  raw('numbers', 'A number may be written in any way.', withField('"size":1.0,"ratio":1e3')),
  raw('duplicate-keys', 'A key may occur twice.', withField('"note":"one","note":"two"')),
  raw('key-order', 'Keys may come in any order.', withField('"10":"b","2":"a"')),
  raw('non-ascii', 'The body is signed as UTF-8.', (json) =>
    json.replace('"certify"', '"Grüße 👋🏽 مرحبا 你好"'),
  ),
  {
    id: 'signature.wrong-secret',
    rule: 'A signature with another secret is refused.',
    hint: `Compute the HMAC over "<timestamp>.<raw body>" with your secret, compare it in constant time, and answer 401 if it differs. ${PATTERN}`,
    run: ({ refuses, events, inputs }) =>
      refuses({
        body: events.received(),
        secret: otherSecret(inputs.secret),
        as: 'delivery signed with another secret',
      }),
  },
  {
    id: 'signature.body-changed',
    rule: 'A body that was changed after it was signed is refused.',
    hint: `The signature covers the whole body. ${PATTERN}`,
    run: ({ refuses, events }) =>
      refuses({
        body: events.received({ text: 'pay 10' }),
        alter: (body) => Buffer.from(body.toString().replace('pay 10', 'pay 99')),
        as: 'delivery whose body was changed',
      }),
  },
  {
    id: 'signature.timestamp-changed',
    rule: 'A timestamp that was changed after it was signed is refused.',
    hint: `The signature covers the timestamp: sign "<timestamp>.<raw body>", not only the body. ${PATTERN}`,
    run: ({ refuses, events, clock, inputs: { profile, secret } }) =>
      refuses({
        body: events.received(),
        as: 'delivery whose timestamp was changed',
        headers: (signed) => {
          const [, fresh] = profile
            .sign({ secret, body: Buffer.alloc(0), at: clock.now() - MINUTE_MS, deliveryId: 'msg_other' })
            .find(([name]) => name === profile.timestampHeader) ?? ['', ''];
          return signed.map(
            (header): Header => (header[0] === profile.timestampHeader ? [header[0], fresh] : header),
          );
        },
      }),
  },
  wrongHeaders(
    'missing',
    'A delivery without a signature is refused.',
    'delivery without a signature',
    (signed, [name]) => without(signed, name),
  ),
  {
    id: 'timestamp.missing',
    rule: 'A delivery without a timestamp is refused.',
    hint: HEADERS,
    run: ({ refuses, events, inputs: { profile } }) =>
      refuses({
        body: events.received(),
        headers: (signed) => without(signed, profile.timestampHeader),
        as: 'delivery without a timestamp',
      }),
  },
  wrongHeaders(
    'empty',
    'A signature without a digest is refused.',
    'delivery with an empty signature',
    withValue((value) => value.replace(/[^=,]+$/, '').replace(/,.*$/, ',')),
  ),
  wrongHeaders(
    'short',
    'A truncated digest is rejected.',
    'delivery with half of its digest',
    withValue((value) => value.slice(0, -20)),
  ),
  wrongHeaders(
    'trailing',
    'A digest with trailing characters is rejected.',
    'delivery with 2 characters behind its digest',
    withValue((value) => `${value}zz`),
  ),
  {
    id: 'signature.two-values',
    level: 'should',
    rule: 'A delivery with two signatures is refused: a proxy and a receiver may each trust a different one.',
    hint: HEADERS,
    async run({ refuses, events, inputs: { profile } }) {
      for (const place of ['before', 'behind']) {
        await refuses({
          body: events.received(),
          as: `delivery with another signature ${place} its own`,
          headers: (signed) =>
            signed.flatMap(([name, value]): Header[] => {
              if (name !== profile.signatureHeader) return [[name, value]];
              const both: Header[] = [
                [name, otherDigest(value)],
                [name, value],
              ];
              return place === 'before' ? both : both.toReversed();
            }),
        });
      }
    },
  },
  {
    id: 'timestamp.stale',
    rule: 'A delivery that was signed 6 minutes ago is refused: it may be a replay.',
    hint: TIME,
    run: ({ refuses, events, clock }) =>
      refuses({
        body: events.received(),
        at: clock.now() - 6 * MINUTE_MS,
        as: 'delivery signed 6 minutes ago',
      }),
  },
  {
    id: 'timestamp.recent',
    rule: 'A delivery that was signed 4 minutes ago is accepted.',
    hint: `${TIME} Is the clock of your server right, and is the timestamp read in the right unit?`,
    run: ({ accepts, events, clock }) =>
      accepts({
        body: events.received(),
        at: clock.now() - 4 * MINUTE_MS,
        as: 'delivery signed 4 minutes ago',
      }),
  },
  {
    id: 'timestamp.future',
    level: 'should',
    rule: 'A delivery that was signed 6 minutes in the future is refused: it could be replayed for that long.',
    hint: TIME,
    run: ({ refuses, events, clock }) =>
      refuses({
        body: events.received(),
        at: clock.now() + 6 * MINUTE_MS,
        as: 'delivery signed 6 minutes in the future',
      }),
  },
  {
    id: 'timestamp.ahead',
    level: 'should',
    rule: 'A delivery that was signed 10 seconds in the future is accepted: clocks differ.',
    hint: TIME,
    run: ({ accepts, events, clock }) =>
      accepts({
        body: events.received(),
        at: clock.now() + 10_000,
        as: 'delivery signed 10 seconds in the future',
      }),
  },
  {
    id: 'timestamp.not-a-number',
    rule: 'A timestamp that is not a number is refused, even if it is signed.',
    hint: `${HEADERS} A comparison with NaN is never true, so "too old" never is.`,
    run: ({ refuses, events }) =>
      refuses({ body: events.received(), timestamp: 'now', as: 'delivery with the timestamp "now"' }),
  },
  {
    id: 'timestamp.other-digits',
    rule: 'A timestamp in other digits than 0 to 9 is refused, even if it is signed.',
    hint: `Check the timestamp with [0-9]: in Python and some other languages, \\d also matches the digits of other scripts. ${PATTERN}`,
    run: ({ refuses, events, clock }) =>
      refuses({
        body: events.received(),
        timestamp: String(clock.now()).replace(/\d/g, (digit) =>
          String.fromCodePoint(0x0660 + Number(digit)),
        ),
        as: 'delivery with a timestamp in Arabic digits',
      }),
  },
  {
    id: 'rotation.old-secret',
    rule: 'A signature with the secret before the last rotation is refused: rotation invalidates it at once.',
    hint: 'Replace the secret in one step, where each process reads it. Do not keep the old one for longer than the switch takes.',
    needs: ['old-secret'],
    run: ({ refuses, events, inputs: { oldSecret = '' } }) =>
      refuses({ body: events.received(), secret: oldSecret, as: 'delivery signed with the old secret' }),
  },
]);
