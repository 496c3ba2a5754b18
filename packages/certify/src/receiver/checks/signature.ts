import { otherSecret } from '../context.ts';
import type { Header } from '../profile.ts';
import { accepted, onWire, refused, type WireCheck } from '../receiver-check.ts';

const SECTION = 'Delivery and signature';
const PATTERN = 'src/patterns/verify-signature.ts shows it.';
const RAW = `Verify the bytes as they were received, before any parser or decoder, and parse them afterwards: express.raw({ type: () => true, limit: '1mb' }), request.rawBody, or Fastify's addContentTypeParser with parseAs "buffer". ${PATTERN}`;
const HEADERS = `Check both headers before you compare: exactly one value of each (in Node, req.headersDistinct), the timestamp as digits, the signature as its prefix and the whole digest. ${PATTERN}`;
const TIME = `Compare the signed timestamp with your clock, in both directions, and refuse more than 5 minutes; X-Service-Timestamp is in milliseconds. ${PATTERN}`;

/** A delivery whose JSON looks different once it is parsed and serialized again. */
const raw = (id: string, rule: string, write: (json: string) => string): WireCheck =>
  accepted(`signature.raw-bytes.${id}`, rule, RAW, ({ events }) => [
    { body: write(JSON.stringify(events.received())), as: `signed delivery with ${id}` },
  ]);

/** Adds a field that receivers ignore. */
const withField = (field: string) => (json: string) => json.replace(/\}$/, `,${field}}`);

/** A delivery with other signature headers than the service sends. */
const wrongHeaders = (
  id: string,
  rule: string,
  as: string,
  change: (signed: readonly Header[], signature: Header) => readonly Header[],
): WireCheck =>
  refused(`signature.${id}`, rule, HEADERS, ({ inputs: { profile } }) => [
    {
      as,
      headers: (signed) =>
        change(signed, signed.find(([name]) => name === profile.signatureHeader) ?? ['', '']),
    },
  ]);

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
  refused(
    'signature.wrong-secret',
    'A signature with another secret is refused.',
    `Compute the HMAC over "<timestamp>.<raw body>" with your secret, compare it in constant time, and answer 401 if it differs. ${PATTERN}`,
    ({ inputs }) => [{ secret: otherSecret(inputs.secret), as: 'delivery signed with another secret' }],
  ),
  refused(
    'signature.body-changed',
    'A body that was changed after it was signed is refused.',
    `The signature covers the whole body. ${PATTERN}`,
    () => [
      {
        alter: (body) => Buffer.from(body.toString().replace('certify', '99')),
        as: 'delivery whose body was changed',
      },
    ],
  ),
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
            .sign({ secret, body: Buffer.alloc(0), at: clock.now() - MINUTE_MS, deliveryId: '' })
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
  refused(
    'timestamp.missing',
    'A delivery without a timestamp is refused.',
    HEADERS,
    ({ inputs: { profile } }) => [
      { headers: (signed) => without(signed, profile.timestampHeader), as: 'delivery without a timestamp' },
    ],
  ),
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
  refused(
    'timestamp.stale',
    'A delivery that was signed 6 minutes ago is refused: it may be a replay.',
    TIME,
    () => [{ ageMs: 6 * MINUTE_MS, as: 'delivery signed 6 minutes ago' }],
  ),
  accepted(
    'timestamp.recent',
    'A delivery that was signed 4 minutes ago is accepted.',
    `${TIME} Is the clock of your server right, and is the timestamp read in the right unit?`,
    () => [{ ageMs: 4 * MINUTE_MS, as: 'delivery signed 4 minutes ago' }],
  ),
  refused(
    'timestamp.future',
    'A delivery that was signed 6 minutes in the future is refused: it could be replayed for that long.',
    TIME,
    () => [{ ageMs: -6 * MINUTE_MS, as: 'delivery signed 6 minutes in the future' }],
    { level: 'should' },
  ),
  accepted(
    'timestamp.ahead',
    'A delivery that was signed 10 seconds in the future is accepted: clocks differ.',
    TIME,
    () => [{ ageMs: -10_000, as: 'delivery signed 10 seconds in the future' }],
    { level: 'should' },
  ),
  refused(
    'timestamp.not-a-number',
    'A timestamp that is not a number is refused, even if it is signed.',
    `${HEADERS} A comparison with NaN is never true, so "too old" never is.`,
    () => [{ timestamp: 'now', as: 'delivery with the timestamp "now"' }],
  ),
  refused(
    'timestamp.other-digits',
    'A timestamp in other digits than 0 to 9 is refused, even if it is signed.',
    `Check the timestamp with [0-9]: in Python and some other languages, \\d also matches the digits of other scripts. ${PATTERN}`,
    ({ clock }) => {
      const arabic = (digit: string): string => String.fromCodePoint(0x0660 + Number(digit));
      const timestamp = String(clock.now()).replace(/\d/g, arabic);
      return [{ timestamp, as: 'delivery with a timestamp in Arabic digits' }];
    },
  ),
  refused(
    'rotation.old-secret',
    'A signature with the secret before the last rotation is refused: rotation invalidates it at once.',
    'Replace the secret in one step, where each process reads it. Do not keep the old one for longer than the switch takes.',
    ({ inputs: { oldSecret = '' } }) => [{ secret: oldSecret, as: 'delivery signed with the old secret' }],
    { needs: ['old-secret'] },
  ),
]);
