import { createHash, createHmac } from 'node:crypto';
import type { SignatureCause } from '../../contract/sandbox/signatures.ts';
import { serializedAgain } from './json-styles.ts';

/** The secrets that a receiver may have used. */
export interface SignatureSecrets {
  /** Of the webhook that the delivery was for, newest first. */
  readonly own: readonly string[];
  /** Of other webhooks, by their owners. */
  readonly others: readonly { readonly owner: string; readonly secret: string }[];
}

/** A mistake: its name, and what it is in a sentence. */
export interface Mistake {
  readonly cause: SignatureCause;
  readonly says: string;
}

/** A value that may have been used, and the mistake that leads to it; null for the right one. */
export interface Option<Value> {
  readonly value: Value;
  readonly mistake: Mistake | null;
}

const right = <Value>(value: Value): Option<Value> => ({ value, mistake: null });
const wrong = <Value>(value: Value, cause: SignatureCause, says: string): Option<Value> => ({
  value,
  mistake: { cause, says },
});

/** Drops what is, by its value, an option that stands before it. */
function distinct<Value>(
  options: readonly Option<Value>[],
  write: (value: Value) => string,
): Option<Value>[] {
  return [
    ...new Map(options.toReversed().map((option) => [write(option.value), option])).values(),
  ].toReversed();
}

/** The message in its parts. */
type Parts = readonly (string | Buffer)[];

/** How a digest is made from a message with an algorithm of `node:crypto`. */
export interface Construction {
  /** Equal for equal constructions. */
  readonly id: string;
  digest(algorithm: string, message: Parts): Buffer;
}

function hmac(key: string | Buffer): Construction {
  return {
    id: `hmac ${Buffer.from(key).toString('hex')}`,
    digest(algorithm, message) {
      const sum = createHmac(algorithm, key);
      for (const part of message) sum.update(part);
      return sum.digest();
    },
  };
}

/** A plain hash, with texts around the message. */
function hash(before: string, after: string): Construction {
  return {
    id: `hash ${JSON.stringify([before, after])}`,
    digest(algorithm, message) {
      const sum = createHash(algorithm);
      for (const part of [before, ...message, after]) sum.update(part);
      return sum.digest();
    },
  };
}

/** An HMAC with the message as its key. */
function swapped(secret: string): Construction {
  const digest = (algorithm: string, message: Parts): Buffer =>
    createHmac(algorithm, Buffer.concat(message.map((part) => Buffer.from(part))))
      .update(secret)
      .digest();
  return { id: 'swapped', digest };
}

/** Constructions from the right secret that are not an HMAC keyed with it. */
function otherConstructions(secret: string): Option<Construction>[] {
  const says =
    'A plain hash of the secret and the message was computed. Use HMAC, with the secret as its key.';
  return [
    ...['', '.', ':', '|', '\n'].flatMap((glue) => [hash(secret + glue, ''), hash('', glue + secret)]),
    hash(secret, secret),
  ]
    .map((construction) => wrong(construction, 'no_hmac', says))
    .concat(
      wrong(
        swapped(secret),
        'key_and_message_swapped',
        'The message was the key of the HMAC, and the secret its message. Swap them.',
      ),
    );
}

/** What people do to a secret between the answer that shows it and the HMAC. */
function alteredSecrets(secret: string): Option<string | Buffer>[] {
  const bare = secret.replace(/^[A-Za-z]+_/, '');
  const whitespace = 'The secret was used with whitespace or quotes around it. Trim the setting.';
  const decoded = 'The secret was decoded before it was used. It is text: use its bytes as they are.';
  const decodings = (['hex', 'base64'] as const).flatMap((encoding) =>
    [secret, bare].map((text) => Buffer.from(text, encoding)).filter(({ length }) => length > 0),
  );
  const encoded = 'The secret was encoded or hashed before it was used. Use its bytes as they are.';
  const sha256 = createHash('sha256').update(secret).digest();
  const encodings = [
    ...(['hex', 'base64'] as const).map((encoding) => Buffer.from(secret).toString(encoding)),
    sha256,
    sha256.toString('hex'),
  ];
  return [
    ...[`${secret}\n`, `${secret}\r\n`, `${secret} `, ` ${secret}`, `"${secret}"`, `'${secret}'`].map(
      (text) => wrong<string | Buffer>(text, 'secret_whitespace', whitespace),
    ),
    wrong<string | Buffer>(
      secret.trim(),
      'secret_whitespace',
      'Whitespace at an end of the secret was trimmed. Use the secret as it is.',
    ),
    wrong<string | Buffer>(
      bare,
      'secret_prefix_removed',
      'The prefix of the secret was removed. The prefix is part of the secret.',
    ),
    ...decodings.map((bytes) => wrong<string | Buffer>(bytes, 'secret_decoded', decoded)),
    ...encodings.map((key) => wrong<string | Buffer>(key, 'secret_encoded', encoded)),
  ];
}

/** The ways to a digest with the secret that signed, which is at this place of `own`, or with another. */
export function listConstructions(
  { own, others }: SignatureSecrets,
  signing: number,
): Option<Construction>[] {
  const secret = own[Math.max(signing, 0)];
  const older = 'The secret was an earlier one of this webhook. Load the current secret.';
  const newer =
    'The secret was a newer one of this webhook than the delivery was signed with. Send the delivery again with a new signature.';
  const plain = 'A plain hash was computed, without the secret. Use HMAC, with the secret as its key.';
  const keys: Option<string | Buffer>[] = [
    ...own.map((text, place) => {
      if (place === signing) return right(text);
      const isNewer = signing < 0 || place < signing;
      return isNewer ? wrong(text, 'new_secret', newer) : wrong(text, 'old_secret', older);
    }),
    ...(secret === undefined ? [] : alteredSecrets(secret)),
    ...others.map(({ owner, secret: text }) =>
      wrong(text, 'wrong_secret', `The secret was that of another webhook, which belongs to ${owner}.`),
    ),
    wrong('', 'secret_missing', 'The secret was empty. Check that the setting is loaded.'),
  ];
  const constructions = [
    ...keys.map(({ value, mistake }) => ({ value: hmac(value), mistake })),
    wrong(hash('', ''), 'secret_missing', plain),
    ...(secret === undefined ? [] : otherConstructions(secret)),
  ];
  return distinct(constructions, ({ id }) => id);
}

/** What stands before and behind the body. */
export type Frame = readonly [before: string, after: string];

export function listFrames(timestamp: string, given: string | undefined): Option<Frame>[] {
  const separator = 'The timestamp and the body were not joined with a dot.';
  const inSeconds = 'The timestamp was used in seconds. Use the header as it is, in milliseconds.';
  const seconds = Number(timestamp) / 1_000;
  const format = 'The timestamp was used in another format. Use the text of the header as it is.';
  const frames = [
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
    ...['v0', 'v1'].map((version) =>
      wrong<Frame>(
        [`${version}:${timestamp}:`, ''],
        'timestamp_separator',
        'A version stood before the timestamp, as in the scheme of another service. Join the timestamp and the body with a dot.',
      ),
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
  return distinct(frames, (frame) => JSON.stringify(frame));
}

/** Texts that stand for a body which a framework has already read or parsed. */
const INSTEAD_OF_BODY = ['', '{}', 'null', 'undefined', '[object Object]'];
const BYTE_ORDER_MARK = '\ufeff';

export function listBodies(body: Buffer, given: string | undefined): Option<Buffer>[] {
  const text = body.toString();
  const charset = (as: string): string =>
    `The body was ${as}. Sign the raw bytes, before they are decoded as text.`;
  const mark = 'A byte order mark was added to the body or removed from it. Sign the raw bytes.';
  const newline = 'A newline at the end of the body was added or removed. Sign the raw bytes.';
  const raw = 'Sign the raw bytes, before any parser reads the body.';
  const bodies = [
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
    wrong(
      Buffer.from(body.toString('base64')),
      'body_encoded',
      'The body was still encoded as base64, as API gateways pass it on. Decode it first.',
    ),
    ...(['hex', 'base64'] as const).map((encoding) =>
      wrong(
        Buffer.from(createHash('sha256').update(body).digest(encoding)),
        'body_encoded',
        `The body was hashed before it was signed. ${raw}`,
      ),
    ),
    ...INSTEAD_OF_BODY.map((other) =>
      wrong(Buffer.from(other), 'body_missing', `In place of the body, "${other}" was signed. ${raw}`),
    ),
    ...(given === undefined
      ? []
      : [wrong(Buffer.from(given), 'other_body', `The body that you passed was signed. ${raw}`)]),
  ];
  return distinct(bodies, (bytes) => bytes.toString('base64'));
}
