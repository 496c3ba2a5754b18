import { SIGNATURE_PREFIX } from '../../contract/service/headers.ts';
import { signEvent } from '../../platform/webhooks/sign-event.ts';
import { explainSignature } from './explain-signature.ts';
import { listBodies, listConstructions, listFrames } from './signature-mistakes.ts';

/** What a signature covers. `timestamp` is in epoch milliseconds. */
interface Signed {
  readonly secret: string;
  readonly timestamp: number;
  readonly body: Buffer;
}

const OTHER_ALGORITHMS = ['sha1', 'sha512', 'sha384', 'md5'];

/** Signatures with one mistake: in what is signed and how, in the algorithm, or in how the digest is written. */
function* listWrongSignatures({ secret, timestamp, body }: Signed): Generator<string> {
  const right = Buffer.from(signEvent(secret, timestamp, body).slice(SIGNATURE_PREFIX.length), 'hex');
  for (const digits of [right.toString('hex'), right.toString('base64')]) {
    yield digits;
    yield SIGNATURE_PREFIX + digits;
  }
  for (const construction of listConstructions({ own: [secret], others: [] }, 0)) {
    for (const frame of listFrames(String(timestamp), undefined)) {
      for (const signed of listBodies(body, undefined)) {
        const mistakes = [construction, frame, signed].filter(({ mistake }) => mistake !== null);
        const [before, after] = frame.value;
        const sign = (algorithm: string): string =>
          construction.value.digest(algorithm, [before, signed.value, after]).toString('hex');
        if (mistakes.length === 1) yield SIGNATURE_PREFIX + sign('sha256');
        if (mistakes.length > 0) continue;
        for (const other of OTHER_ALGORITHMS) {
          yield `${other}=${sign(other)}`;
          yield SIGNATURE_PREFIX + sign(other);
        }
      }
    }
  }
}

/**
 * The values of the signature header to which the known mistakes lead, each made alone, with what the mistake is and
 * what to do about it. Who accepts one of them makes this mistake.
 */
export function* signWrongly(
  signed: Signed,
): Generator<{ readonly signature: string; readonly says: string }> {
  const { secret, timestamp, body } = signed;
  const sent = { signature: signEvent(secret, timestamp, body), timestamp, body };
  for (const signature of listWrongSignatures(signed)) {
    const { cause, explanation } = explainSignature(sent, { signature }, { own: [secret], others: [] });
    if (cause !== undefined) yield { signature, says: explanation };
  }
}
