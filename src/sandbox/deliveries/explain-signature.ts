import type { SignatureExplanation } from '../../contract/sandbox/signatures.ts';
import { HEADERS, SIGNATURE_PREFIX } from '../../contract/service/headers.ts';
import { signEvent } from '../../platform/webhooks/sign-event.ts';
import type { SignedBody } from '../../platform/webhooks/signed-body.ts';
import {
  type Construction,
  type Frame,
  listBodies,
  listConstructions,
  listFrames,
  type Mistake,
  type Option,
  type SignatureSecrets,
} from './signature-mistakes.ts';

/** A computed signature, and the input that it was computed from. */
export interface Computed {
  readonly signature: string;
  readonly timestamp?: string;
  readonly body?: string;
}

/** Larger bodies are only compared with one mistake at a time: each comparison hashes the body. */
const LARGE_BODY = 64 * 1024;

/** What a digest may have been computed from. */
interface Options {
  readonly constructions: readonly Option<Construction>[];
  readonly frames: readonly Option<Frame>[];
  readonly bodies: readonly Option<Buffer>[];
}

/**
 * The fewest mistakes that lead to a digest, at most two; null if none do. The secret of another webhook is combined
 * with no second one: there may be many webhooks, and each pair of mistakes is one hash of the body.
 */
function findMistakes(
  wanted: Buffer,
  algorithm: string,
  { constructions, frames, bodies }: Options,
): readonly Mistake[] | null {
  const isLarge = bodies.some(({ value }) => value.length > LARGE_BODY);
  for (const count of isLarge ? [0, 1] : [0, 1, 2]) {
    for (const construction of constructions) {
      if (count === 2 && construction.mistake?.cause === 'wrong_secret') continue;
      for (const frame of frames) {
        for (const body of bodies) {
          const mistakes = [body, frame, construction].flatMap(({ mistake }) => mistake ?? []);
          if (mistakes.length !== count) continue;
          const [before, after] = frame.value;
          if (construction.value.digest(algorithm, [before, body.value, after]).equals(wanted))
            return mistakes;
        }
      }
    }
  }
  return null;
}

const RIGHT_ALGORITHM = 'sha256';
/** Algorithms of `node:crypto` by the length of their digests in bytes, with their names. */
const ALGORITHMS: Readonly<Record<number, Readonly<Record<string, string>>>> = {
  16: { md5: 'MD5' },
  20: { sha1: 'SHA-1' },
  28: { sha224: 'SHA-224' },
  32: { [RIGHT_ALGORITHM]: 'SHA-256', 'sha3-256': 'SHA3-256', 'sha512-256': 'SHA-512/256' },
  48: { sha384: 'SHA-384' },
  64: { sha512: 'SHA-512', 'sha3-512': 'SHA3-512' },
};

function otherAlgorithm(name: string): Mistake {
  return { cause: 'other_algorithm', says: `This is a ${name}: the specification says HMAC-SHA256.` };
}

/** The same, with each algorithm whose digests are this long. Of other lengths than that of SHA-256, one is at fault. */
function findAlgorithm(wanted: Buffer, options: Options): readonly Mistake[] | null {
  const algorithms = Object.entries(ALGORITHMS[wanted.length] ?? {});
  for (const [algorithm, name] of algorithms) {
    const mistakes = findMistakes(wanted, algorithm, options);
    if (mistakes !== null)
      return algorithm === RIGHT_ALGORITHM ? mistakes : [otherAlgorithm(name), ...mistakes];
  }
  const [[algorithm, name] = ['', '']] = algorithms;
  return algorithm === RIGHT_ALGORITHM ? null : [otherAlgorithm(name)];
}

const HEX = /^(?:[0-9a-f]{2})+$/i;
const BASE64 = /^[A-Za-z0-9+/_-]+={0,2}$/;
/** `sha256=` and what others write in its place. */
const LABEL = /^[A-Za-z0-9-]{2,10}=(?=.)/;

const isDigest = (bytes: Buffer): boolean => bytes.length in ALGORITHMS;

/** The digest that a text stands for, and how it is not written as the header is. */
function readSignature(text: string): { readonly bytes: Buffer; readonly mistake: Mistake | null } | null {
  const digits = text.replace(LABEL, '');
  const encoding = HEX.test(digits) && isDigest(Buffer.from(digits, 'hex')) ? 'hex' : 'base64';
  if (encoding === 'base64' && !BASE64.test(digits)) return null;
  const bytes = Buffer.from(digits, encoding);
  const again = bytes.toString('latin1');
  if (bytes.length === 64 && HEX.test(again)) {
    const says = `The hex digits were encoded again, as ${encoding}. Write the 64 hex digits themselves.`;
    return { bytes: Buffer.from(again, 'hex'), mistake: { cause: 'encoded_twice', says } };
  }
  if (!isDigest(bytes)) return null;
  if (encoding === 'base64') {
    const says = 'The digest was written as base64. Write it as 64 hex digits in lower case.';
    return { bytes, mistake: { cause: 'base64', says } };
  }
  // The label of another algorithm is part of the mistake to use it.
  if (!text.startsWith(SIGNATURE_PREFIX) && (bytes.length === 32 || text === digits)) {
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
/** With both given, nothing but the key is left: the signature was computed from them, and not with this secret. */
const OTHER_SECRET: Mistake = {
  cause: 'wrong_secret',
  says: 'The secret of this webhook gives another signature for this timestamp and this body, and no known mistake leads to yours: your server used another secret. The service shows the secret once, when the webhook is set or its secret is rotated.',
};
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
  const explained = sent.equals(read.bytes)
    ? []
    : findAlgorithm(read.bytes, {
        constructions: listConstructions(secrets, signing),
        frames: listFrames(String(signed.timestamp), computed.timestamp),
        bodies: listBodies(body, computed.body),
      });
  const isComplete = computed.timestamp !== undefined && computed.body !== undefined && signing >= 0;
  const found = explained ?? (isComplete ? [OTHER_SECRET] : null);
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
