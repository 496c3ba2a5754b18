import { createHmac } from 'node:crypto';
import { OLD_SECRET, SECRET, type Ways, WINDOW_MS } from './receiver.ts';
import type { Fault, Wrong } from './wrong.ts';

const serialized = (chunks: readonly Buffer[]): Buffer => {
  const text = Buffer.concat(chunks).toString();
  try {
    return Buffer.from(JSON.stringify(JSON.parse(text)));
  } catch {
    return Buffer.from(text);
  }
};

/** A receiver whose signature differs in one respect, so that it accepts no genuine delivery. */
const signsWrongly = (told: RegExp, signs: NonNullable<Ways['signs']>): Fault<Ways> => ({
  ways: { signs },
  told,
  fails: ['payload.message-received'],
});

const hmac = (key: string | Buffer, ...parts: readonly (string | Buffer)[]): Buffer => {
  const digest = createHmac('sha256', key);
  for (const part of parts) digest.update(part);
  return digest.digest();
};
const inHex = (digest: Buffer): string => `sha256=${digest.toString('hex')}`;

/** Receivers whose answers are wrong. */
export const WRONG_ANSWERS: Wrong<Ways> = {
  'It parses the body, serializes it again, and verifies that.': {
    ways: { bytes: serialized },
    told: /[Vv]erify the bytes as they were received/,
    fails: [
      'payload.long-text',
      'signature.raw-bytes.duplicate-keys',
      'signature.raw-bytes.escapes',
      'signature.raw-bytes.key-order',
      'signature.raw-bytes.numbers',
      'signature.raw-bytes.white-space',
    ],
  },
  'It decodes the body with another charset before it verifies.': {
    ways: { bytes: (chunks) => Buffer.from(Buffer.concat(chunks).toString('latin1')) },
    told: /bytes|Decode the body as UTF-8/,
    fails: ['body.in-two-parts', 'effects.text', 'signature.raw-bytes.non-ascii'],
  },
  'It decodes each chunk of the body separately, and splits characters.': {
    ways: { bytes: (chunks) => Buffer.from(chunks.map((chunk) => chunk.toString()).join('')) },
    told: /concatenate bytes/,
    fails: ['body.in-two-parts'],
  },
  'It accepts every request.': {
    ways: { trusts: () => true },
    told: /Check both headers|Compute the HMAC|The signature covers|in both directions|Replace the secret|Verify before you store|Check the timestamp with/,
    fails: [
      'effects.forged',
      'rotation.old-secret',
      'signature.body-changed',
      'signature.empty',
      'signature.missing',
      'signature.short',
      'signature.timestamp-changed',
      'signature.trailing',
      'signature.two-values',
      'signature.wrong-secret',
      'timestamp.future',
      'timestamp.missing',
      'timestamp.not-a-number',
      'timestamp.other-digits',
      'timestamp.stale',
    ],
  },
  'It verifies a signature if there is one.': {
    ways: { trusts: ({ headers }) => headers['x-service-signature'] === undefined },
    told: /Check both headers/,
    fails: ['signature.missing'],
  },
  'It verifies the signature but not its age.': {
    ways: { fresh: () => true },
    told: /Compare the signed timestamp with your clock/,
    fails: ['timestamp.future', 'timestamp.stale'],
  },
  'It refuses old signatures, and accepts those from far in the future.': {
    ways: { fresh: (ageMs) => ageMs <= WINDOW_MS },
    told: /in both directions/,
    fails: ['timestamp.future'],
  },
  'It refuses what was signed a minute ago.': {
    ways: { fresh: (ageMs) => Math.abs(ageMs) <= 60_000 },
    told: /refuse more than 5 minutes/,
    fails: ['timestamp.recent'],
  },
  'It refuses what is signed a moment ahead of its clock.': {
    ways: { fresh: (ageMs) => ageMs <= WINDOW_MS && ageMs > -1_000 },
    told: /in both directions/,
    fails: ['timestamp.ahead'],
  },
  'It does not check that the timestamp is a number, and NaN is never too old.': {
    ways: { form: () => true, fresh: (ageMs) => !(Math.abs(ageMs) > WINDOW_MS) },
    told: /NaN/,
    fails: ['timestamp.not-a-number'],
  },
  'It compares as many characters as were sent.': {
    ways: { same: (given, right) => right.startsWith(given) },
    told: /the whole digest/,
    fails: ['signature.empty', 'signature.short'],
  },
  'It decodes the digest with a function that stops at the first character that is not hex.': {
    ways: { same: (given, right) => Buffer.from(given, 'hex').toString('hex') === right },
    told: /the whole digest/,
    fails: ['signature.trailing'],
  },
  'It takes the first value of a repeated header.': {
    ways: { pick: ([first]) => first },
    told: /exactly one value of each/,
    fails: ['signature.two-values'],
  },
  'It accepts the secret that was valid before the rotation.': {
    ways: { secrets: [SECRET, OLD_SECRET] },
    told: /Do not keep the old one/,
    fails: ['rotation.old-secret'],
  },
  'It answers 500 for event types that it does not know.': {
    ways: {
      answer: ({ event }) => (/^(?:message\.(?:received|status)|connection\.)/.test(event ?? '') ? 200 : 500),
    },
    told: /in the default branch too/,
    fails: ['payload.unknown-event'],
  },
  'It validates with a schema that allows no other fields.': {
    ways: { answer: (event) => ('added_later' in event || 'note' in event ? 422 : 200) },
    told: /additional fields|Verify the bytes/,
    fails: ['payload.unknown-fields', 'signature.raw-bytes.duplicate-keys'],
  },
  'It validates with a schema in which the text is required.': {
    ways: {
      answer: ({ event, message }) => (event === 'message.received' && message?.text === null ? 422 : 200),
    },
    told: /allow null|text is null/,
    fails: ['effects.file', 'payload.null-fields'],
  },
  'It validates with a schema that lists the statuses.': {
    ways: { answer: ({ message }) => (message?.status === 'played' ? 422 : 200) },
    told: /Answer 2xx to every genuine delivery/,
    fails: ['payload.unknown-status'],
  },
  'It answers 404 for events of connections.': {
    ways: { answer: ({ event }) => (event?.startsWith('connection.') ? 404 : 200) },
    told: /Answer 2xx to every genuine delivery/,
    fails: ['payload.connected', 'payload.disconnected', 'payload.unknown-reason'],
  },
  'It answers 404 for the status of a message that it does not have yet.': {
    ways: {
      answer: ({ event, message }, rows) =>
        event === 'message.status' && !rows.some(({ id }) => id === message?.id) ? 404 : 200,
    },
    told: /before its message|Keep the status of a message that is not known yet|Answer 2xx to every/,
    fails: [
      'delivery.out-of-order',
      'effects.status.first',
      'payload.message-status',
      'payload.unknown-status',
    ],
  },
  'It answers 409 for a delivery that it already has.': {
    ways: {
      answer: ({ event, message }, rows) =>
        event === 'message.received' && rows.some(({ id }) => id === message?.id) ? 409 : 200,
    },
    told: /not a conflict|Do not take the status and the message of one id for copies/,
    fails: ['delivery.repeated', 'effects.text-kept'],
  },
  'It accepts bodies of at most 10 kB.': {
    ways: { largest: 10_000 },
    told: /at least 100 kB/,
    fails: ['payload.long-text'],
  },
  'It answers 500 for a body that is too large.': {
    ways: { tooLarge: 500 },
    told: /answer 413/,
    fails: ['body.large'],
  },
  'It answers 500 for a body that is not JSON.': {
    ways: { notJson: 500 },
    told: /must not end in a 5xx/,
    fails: ['body.none', 'body.not-json'],
  },
  'It answers 500 to GET.': {
    ways: { otherMethod: 500 },
    told: /405/,
    fails: ['method.get'],
  },
  'It answers 503 to more than 10 requests at once.': {
    ways: { atOnce: 10 },
    told: /limits requests or load/,
    fails: ['delivery.at-once'],
  },
  'It closes the connection after each answer without announcing it.': {
    ways: { afterwards: (socket) => socket.destroy() },
    told: /close the connection with the answer/,
    fails: ['connection.kept'],
  },
  'It answers only 503 after the second request on a connection.': {
    ways: { givesUp: true },
    told: /limits requests or load/,
    fails: ['delivery.afterwards'],
  },
  'It has the secret that was valid before the rotation.': {
    ways: { secrets: [OLD_SECRET] },
    told: /before the last rotation/,
    fails: ['payload.message-received'],
  },
  'It signs the body without the timestamp.': signsWrongly(/timestamp was left out/, (secret, _, body) =>
    inHex(hmac(secret, body)),
  ),
  'It signs the timestamp in seconds.': signsWrongly(/in seconds/, (secret, timestamp, body) =>
    inHex(hmac(secret, `${Math.floor(Number(timestamp) / 1_000)}.`, body)),
  ),
  'It decodes the secret before it uses it.': signsWrongly(/secret was decoded/, (secret, timestamp, body) =>
    inHex(hmac(Buffer.from(secret.replace('whsec_', ''), 'base64'), `${timestamp}.`, body)),
  ),
  'It compares a digest without its prefix.': signsWrongly(
    /begins with `sha256=`/,
    (secret, timestamp, body) => hmac(secret, `${timestamp}.`, body).toString('hex'),
  ),
  'It serializes the body with spaces, as Python does, and signs that.': signsWrongly(
    /parsed and serialized/,
    (secret, timestamp, body) => {
      const pretty = JSON.stringify(JSON.parse(body.toString()), undefined, 1);
      const python = pretty
        .replace(/([{[])\n */g, '$1')
        .replace(/\n *([}\]])/g, '$1')
        .replace(/\n +/g, ' ')
        .replace(/[^ -~]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);
      return inHex(hmac(secret, `${timestamp}.`, python));
    },
  ),
  'It compares the timestamp with a clock in seconds.': {
    ways: {
      form: () => true,
      fresh: (_, timestamp) => Math.abs(Date.now() / 1_000 - Number(timestamp)) <= 300,
    },
    told: /read in seconds/,
    fails: ['payload.message-received'],
  },
  'It listens on another path, and answers 404.': {
    ways: { answer: () => 404 },
    told: /Is this the address/,
    fails: ['payload.message-received'],
  },
  'Its process ends with a message that has no text.': {
    ways: { dies: ({ message }) => message?.text === null },
    told: /process has ended/,
    fails: ['payload.null-fields'],
  },
  'It validates the reason of a disconnection against three values.': {
    ways: {
      answer: ({ connection: { reason = 'AUTH_LOST' } = {} }) =>
        /^(?:AUTH_LOST|NEEDS_RECONNECT|HEAL_GIVEUP)$/.test(reason) ? 200 : 400,
    },
    told: /The reason is advisory/,
    fails: ['payload.unknown-reason'],
  },
  'It accepts bodies of at most 20 kB.': {
    ways: { largest: 20_000 },
    told: /at least 100 kB/,
    fails: ['payload.long-text'],
  },
  'It answers 415 to a content type with a charset.': {
    ways: { takes: (type) => type === 'application/json' },
    told: /may have parameters/,
    fails: ['header.charset'],
  },
  'It takes the last value of a repeated header.': {
    ways: { pick: (values) => values.at(-1) },
    told: /exactly one value of each/,
    fails: ['signature.two-values'],
  },
  'It accepts a timestamp in Arabic digits.': {
    ways: {
      decode: (header) => Buffer.from(header, 'latin1').toString(),
      form: (timestamp) => /^\p{Nd}{13}$/u.test(timestamp),
      fresh: (ageMs) => !(Math.abs(ageMs) > WINDOW_MS),
    },
    told: /digits of other scripts/,
    fails: ['timestamp.other-digits'],
  },
};
