import { createHash, createHmac } from 'node:crypto';
import type { SignatureCause, SignatureExplanation } from '../../contract/sandbox/signatures.ts';
import { HEADERS, SIGNATURE_PREFIX } from '../../contract/service/headers.ts';
import type { SignedBody } from '../../platform/webhooks/attempt-slots.ts';
import { signEvent } from '../../platform/webhooks/sign-event.ts';
import { serializedAgain } from './json-styles.ts';

/** The secrets that a receiver may have used. */
export interface SignatureSecrets {
  /** Of the webhook that the delivery was for, newest first. */
  readonly own: readonly string[];
  /** Of other webhooks, by their owners. */
  readonly others: readonly { readonly owner: string; readonly secret: string }[];
}

/** A computed signature, and the input that it was computed from. */
export interface Computed {
  readonly signature: string;
  readonly timestamp?: string;
  readonly body?: string;
}

/** A mistake: its name, and what it is in a sentence. */
interface Mistake {
  readonly cause: SignatureCause;
  readonly says: string;
}

/** A value that may have been used, and the mistake that leads to it; null for the right one. */
interface Option<Value> {
  readonly value: Value;
  readonly mistake: Mistake | null;
}

const right = <Value>(value: Value): Option<Value> => ({ value, mistake: null });
const wrong = <Value>(value: Value, cause: SignatureCause, says: string): Option<Value> => ({
  value,
  mistake: { cause, says },
});

/** Keys the HMAC; null stands for a plain hash without a secret. */
type Key = string | Buffer | null;

/** What people do to a secret between the answer that shows it and the HMAC. */
function alteredSecrets(secret: string): Option<Key>[] {
  const bare = secret.replace(/^[A-Za-z]+_/, '');
  const whitespace = 'The secret was used with whitespace or quotes around it. Trim the setting.';
  const decoded = 'The secret was decoded before it was used. It is text: use its bytes as they are.';
  const decodings = (['hex', 'base64'] as const).flatMap((encoding) =>
    [secret, bare].map((text) => Buffer.from(text, encoding)).filter(({ length }) => length > 0),
  );
  return [
    ...[`${secret}\n`, `${secret}\r\n`, `${secret} `, ` ${secret}`, `"${secret}"`, `'${secret}'`].map(
      (text) => wrong<Key>(text, 'secret_whitespace', whitespace),
    ),
    wrong<Key>(
      secret.trim(),
      'secret_whitespace',
      'Whitespace at an end of the secret was trimmed. Use the secret as it is.',
    ),
    wrong<Key>(
      bare,
      'secret_prefix_removed',
      'The prefix of the secret was removed. The prefix is part of the secret.',
    ),
    ...decodings.map((bytes) => wrong<Key>(bytes, 'secret_decoded', decoded)),
  ];
}

function listKeys({ own, others }: SignatureSecrets, signing: number): Option<Key>[] {
  const secret = own[Math.max(signing, 0)];
  const older = 'The secret was an earlier one of this webhook. Load the current secret.';
  const newer =
    'The secret was a newer one of this webhook than the delivery was signed with. Send the delivery again with a new signature.';
  return [
    ...own.flatMap((text, place) => {
      if (place === signing) return right<Key>(text);
      const isNewer = signing < 0 || place < signing;
      return isNewer ? wrong<Key>(text, 'new_secret', newer) : wrong<Key>(text, 'old_secret', older);
    }),
    ...(secret === undefined ? [] : alteredSecrets(secret)),
    ...others.map(({ owner, secret: text }) =>
      wrong<Key>(text, 'wrong_secret', `The secret was that of another webhook, which belongs to ${owner}.`),
    ),
    wrong<Key>('', 'secret_missing', 'The secret was empty. Check that the setting is loaded.'),
    wrong<Key>(null, 'secret_missing', 'A plain SHA-256 was computed, without the secret. Use HMAC-SHA256.'),
  ];
}

/** What stands before and behind the body. */
type Frame = readonly [before: string, after: string];

function listFrames(timestamp: string, given: string | undefined): Option<Frame>[] {
  const separator = 'The timestamp and the body were not joined with a dot.';
  const inSeconds = 'The timestamp was used in seconds. Use the header as it is, in milliseconds.';
  const seconds = Number(timestamp) / 1_000;
  const format = 'The timestamp was used in another format. Use the text of the header as it is.';
  return [
    right<Frame>([`${timestamp}.`, '']),
    wrong<Frame>(['', ''], 'timestamp_left_out', 'The timestamp was left out: only the body was signed.'),
    ...[Math.floor(seconds), Math.round(seconds)].map((text) =>
      wrong<Frame>([`${text}.`, ''], 'timestamp_in_seconds', inSeconds),
    ),
    ...['', ':', ',', '\n', ' ', '|', '-', '_', ';', '..'].map((text) =>
      wrong<Frame>([`${timestamp}${text}`, ''], 'timestamp_separator', separator),
    ),
    ...['.', ''].map((text) =>
      wrong<Frame>(['', `${text}${timestamp}`], 'parts_swapped', 'The body was signed before the timestamp.'),
    ),
    ...[String(seconds), new Date(Number(timestamp)).toISOString()].map((text) =>
      wrong<Frame>([`${text}.`, ''], 'timestamp_format', format),
    ),
    ...(given === undefined || given === timestamp
      ? []
      : [
          wrong<Frame>(
            [`${given}.`, ''],
            'other_timestamp',
            'The timestamp is not that of this delivery. Use the one of the same request: a delivery that is signed again has another.',
          ),
        ]),
  ];
}

/** Texts that stand for a body which a framework has already read or parsed. */
const INSTEAD_OF_BODY = ['', '{}', 'null', 'undefined', '[object Object]'];
const BYTE_ORDER_MARK = '\ufeff';

function listBodies(body: Buffer, given: string | undefined): Option<Buffer>[] {
  const text = body.toString();
  const charset = (as: string): string =>
    `The body was ${as}. Sign the raw bytes, before they are decoded as text.`;
  const mark = 'A byte order mark was added to the body or removed from it. Sign the raw bytes.';
  const newline = 'A newline at the end of the body was added or removed. Sign the raw bytes.';
  const raw = 'Sign the raw bytes, before any parser reads the body.';
  return [
    right(body),
    ...serializedAgain(text).map(({ by, text: again }) =>
      wrong(
        Buffer.from(again),
        'parsed_and_serialized',
        `The body was parsed and serialized again, as by ${by}. ${raw}`,
      ),
    ),
    ...[`${text}\n`, `${text}\r\n`, text.trimEnd()].map((other) =>
      wrong(Buffer.from(other), 'trailing_newline', newline),
    ),
    ...[`${BYTE_ORDER_MARK}${text}`, text.replace(BYTE_ORDER_MARK, '')].map((other) =>
      wrong(Buffer.from(other), 'byte_order_mark', mark),
    ),
    wrong(
      Buffer.from(new TextDecoder('windows-1252').decode(body)),
      'charset',
      charset('read as windows-1252'),
    ),
    wrong(Buffer.from(body.toString('latin1')), 'charset', charset('read as latin1')),
    wrong(Buffer.from(text, 'latin1'), 'charset', charset('encoded as latin1')),
    wrong(Buffer.from(text, 'utf16le'), 'charset', charset('encoded as UTF-16')),
    ...INSTEAD_OF_BODY.map((other) =>
      wrong(Buffer.from(other), 'body_missing', `In place of the body, "${other}" was signed. ${raw}`),
    ),
    ...(given === undefined
      ? []
      : [wrong(Buffer.from(given), 'other_body', `The body that you passed was signed. ${raw}`)]),
  ];
}

/** Drops what is, by its value, an option that stands before it. */
function distinct<Value>(
  options: readonly Option<Value>[],
  write: (value: Value) => string,
): Option<Value>[] {
  return [
    ...new Map(options.toReversed().map((option) => [write(option.value), option])).values(),
  ].toReversed();
}

function digest(key: Key, [before, after]: Frame, body: Buffer): Buffer {
  const hash = key === null ? createHash('sha256') : createHmac('sha256', key);
  return hash.update(before).update(body).update(after).digest();
}

/** Larger bodies are only compared with one mistake at a time: each comparison hashes the body. */
const LARGE_BODY = 64 * 1024;

/** The fewest mistakes that lead to a digest, at most two; null if none do. */
function findMistakes(
  wanted: Buffer,
  keys: readonly Option<Key>[],
  frames: readonly Option<Frame>[],
  bodies: readonly Option<Buffer>[],
): readonly Mistake[] | null {
  const isLarge = bodies.some(({ value }) => value.length > LARGE_BODY);
  for (const count of isLarge ? [0, 1] : [0, 1, 2]) {
    for (const key of keys) {
      for (const frame of frames) {
        for (const body of bodies) {
          const mistakes = [body, frame, key].flatMap(({ mistake }) => mistake ?? []);
          if (mistakes.length !== count) continue;
          if (digest(key.value, frame.value, body.value).equals(wanted)) return mistakes;
        }
      }
    }
  }
  return null;
}

const HEX = /^[0-9a-f]{64}$/i;
const BASE64 = /^[A-Za-z0-9+/_-]{43}=?$/;

/** The 32 bytes that a text stands for, and how it is not written as the header is. */
function readSignature(text: string): { readonly bytes: Buffer; readonly mistake: Mistake | null } | null {
  const hasPrefix = text.startsWith(SIGNATURE_PREFIX);
  const digits = hasPrefix ? text.slice(SIGNATURE_PREFIX.length) : text;
  if (BASE64.test(digits)) {
    const says = 'The digest was written as base64. Write it as 64 hex digits in lower case.';
    return { bytes: Buffer.from(digits, 'base64'), mistake: { cause: 'base64', says } };
  }
  if (!HEX.test(digits)) return null;
  const bytes = Buffer.from(digits, 'hex');
  if (!hasPrefix) {
    const says = `The value of ${HEADERS.signature} begins with \`${SIGNATURE_PREFIX}\`. Add it, or remove it from the header before you compare.`;
    return { bytes, mistake: { cause: 'prefix_missing', says } };
  }
  if (digits === digits.toLowerCase()) return { bytes, mistake: null };
  const says =
    'The hex digits are in upper case, and those of the header in lower case. Compare the decoded bytes.';
  return { bytes, mistake: { cause: 'uppercase_hex', says } };
}

function firstDifference<Text extends string | Buffer>(expected: Text, actual: Text): number {
  let index = 0;
  while (index < expected.length && expected[index] === actual[index]) index += 1;
  return index;
}

const EXCERPT_BYTES = 16;

/** Where a given body differs from the one that was sent; undefined if it does not. */
function compareBodies(sent: Buffer, given: string | undefined): SignatureExplanation['bodyDifference'] {
  if (given === undefined) return undefined;
  const had = Buffer.from(given);
  if (had.equals(sent)) return undefined;
  const index = firstDifference(sent, had);
  const excerpt = (bytes: Buffer): string => bytes.subarray(index, index + EXCERPT_BYTES).toString();
  return { index, expected: excerpt(sent), actual: excerpt(had) };
}

const MALFORMED = `This is not a signature of HMAC-SHA256: expected \`${SIGNATURE_PREFIX}\` and 64 hex digits.`;
const UNEXPLAINED =
  'No known mistake produces this signature. Pass the raw `body` and the `timestamp` that your server used, to compare those.';
const SECRET_GONE =
  ' The secret that signed this delivery is no longer known. Send the delivery again with a new signature, and compare that one.';

/**
 * Compares a signature that a receiver has computed with the one that was sent, and finds the mistakes that lead to it
 * by making them. A cause is only named if it results in exactly this signature.
 */
export function explainSignature(
  signed: SignedBody,
  computed: Computed,
  secrets: SignatureSecrets,
): SignatureExplanation {
  const { signature: expected, body } = signed;
  const text = computed.signature.trim();
  const index = firstDifference(expected, text);
  const difference = {
    firstDifference: { index, expected: expected[index] ?? '', actual: text[index] ?? '' },
  };
  const bodyDifference = compareBodies(body, computed.body);
  const common = { expected, ...(bodyDifference === undefined ? {} : { bodyDifference }) };
  if (text === expected)
    return { ...common, matches: true, explanation: 'This is the signature that was sent.' };
  const read = readSignature(text);
  if (read === null) {
    return { ...common, ...difference, matches: false, cause: 'malformed', explanation: MALFORMED };
  }
  const signing = secrets.own.findIndex((secret) => signEvent(secret, signed.timestamp, body) === expected);
  const sent = Buffer.from(expected.slice(SIGNATURE_PREFIX.length), 'hex');
  const found = sent.equals(read.bytes)
    ? []
    : findMistakes(
        read.bytes,
        distinct(listKeys(secrets, signing), (key) =>
          key === null ? 'none' : Buffer.from(key).toString('hex'),
        ),
        distinct(listFrames(String(signed.timestamp), computed.timestamp), (frame) => JSON.stringify(frame)),
        distinct(listBodies(body, computed.body), (bytes) => bytes.toString('base64')),
      );
  if (found === null) {
    const explanation = signing < 0 ? UNEXPLAINED + SECRET_GONE : UNEXPLAINED;
    return { ...common, ...difference, matches: false, explanation };
  }
  const mistakes = [...found, ...(read.mistake === null ? [] : [read.mistake])];
  const [first, ...further] = mistakes.map(({ cause }) => cause);
  const matches = found.length === 0 && read.mistake?.cause === 'uppercase_hex';
  return {
    ...common,
    ...(matches ? {} : difference),
    matches,
    ...(first === undefined ? {} : { cause: first }),
    ...(further.length === 0 ? {} : { furtherCauses: further }),
    explanation: mistakes.map(({ says }) => says).join(' '),
  };
}
