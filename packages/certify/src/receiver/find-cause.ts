import { type Cause, Violation } from '../runner/check.ts';
import type { Exchange } from '../runner/exchange.ts';
import { type Delivery, isLimited, isSuccess, type ReceiverContext } from './context.ts';

const ENDED =
  'The receiver no longer answers. Its process has ended or hangs: look at its log, and handle the error of one request in that request.';
export const LIMITED =
  'The receiver limits requests or load: it answers 429 or 503 to genuine deliveries. The service makes three attempts within 1.5 s and then drops the event; the connector does not call a consumer for seconds to minutes. Exempt its deliveries from the limit, and queue work instead of refusing it.';
const WRONG_ADDRESS =
  'Is this the address of the receiver? Every answer but a 2xx is a failure, redirects included.';
const UNKNOWN =
  'No known mistake in the computation of the signature leads to this. Is the secret the one that was returned last, by PUT /webhook or POST /webhook/rotate, for a consumer by POST /v1/consumers or POST /v1/consumers/{id}/rotate-secret? Otherwise the log of the receiver says why it refuses a genuine delivery.';
const UNIT =
  'The timestamp was read in seconds. X-Service-Timestamp is in milliseconds: the difference to your clock may be at most 300,000.';
const CONTENT_TYPE =
  'The receiver refuses the content type. Deliveries have Content-Type: application/json; read the raw body whatever it is.';

const last = (hint: string): Cause => ({ hint, isLast: true });

/**
 * Why a check failed, if the receiver accepts not even a plain delivery: what follows would fail for the same reason.
 * Undefined if it accepts one. Finds a mistake in the signature by making it.
 */
export async function findCause(context: ReceiverContext, violation: Violation): Promise<Cause | undefined> {
  if (violation.exchange !== undefined && isSuccess(violation.exchange)) return undefined;
  const plain = await answerTo(context, { body: context.events.received(), as: 'plain delivery' });
  if (plain === undefined) return last(ENDED);
  if (isSuccess(plain)) {
    const isLimit = violation.exchange !== undefined && isLimited(violation.exchange);
    return isLimit ? { hint: LIMITED, isLast: false } : undefined;
  }
  if (isLimited(plain)) return last(LIMITED);
  if (plain.status === 415) return last(CONTENT_TYPE);
  if (plain.status < 400 || plain.status === 404 || plain.status === 405) return last(WRONG_ADDRESS);
  return last((await findMistake(context)) ?? findWrongClock(context, plain) ?? UNKNOWN);
}

/** The answer to a delivery; undefined if there is none. */
async function answerTo(context: ReceiverContext, delivery: Delivery): Promise<Exchange | undefined> {
  return await context.attempt(delivery).catch((error: unknown) => {
    if (error instanceof Violation) return undefined;
    throw error;
  });
}

/** The mistake with which a delivery is accepted. */
async function findMistake(context: ReceiverContext): Promise<string | undefined> {
  const { inputs, events, clock } = context;
  const isTaken = async (delivery: Omit<Delivery, 'body'>, body: Delivery['body'] = events.received()) => {
    const answer = await answerTo(context, { ...delivery, body });
    return answer !== undefined && isSuccess(answer);
  };
  const { oldSecret, secret, profile, signWrongly } = inputs;
  if (oldSecret !== undefined && (await isTaken({ secret: oldSecret })))
    return 'The receiver has the secret that was valid before the last rotation. Load the current one.';
  if (profile.name !== 'messaging') return undefined;
  if (await isTaken({ timestamp: String(Math.floor(clock.now() / 1_000)) })) return UNIT;
  // With characters that a decoder changes, and white space that a serializer drops.
  const body = Buffer.from(JSON.stringify(events.received({ text: 'Grüße, 你好' }), undefined, 1));
  const at = clock.now();
  for (const { signature, says } of signWrongly?.({ secret, timestamp: at, body }) ?? []) {
    const headers: Delivery['headers'] = (signed) =>
      signed.map(([name, value]) => [name, name === profile.signatureHeader ? signature : value]);
    if (await isTaken({ at, headers, as: 'delivery with a known mistake in its signature' }, body))
      return says;
  }
  return undefined;
}

/** More than the window of 5 minutes. */
const MINUTES = 5;

function findWrongClock({ clock }: ReceiverContext, { headers }: Exchange): string | undefined {
  const date = Date.parse(headers.get('date') ?? '');
  const minutes = Math.round((date - clock.now()) / 60_000);
  if (!(Math.abs(minutes) >= MINUTES)) return undefined;
  return `The clock of the receiver is ${Math.abs(minutes)} minutes ${minutes > 0 ? 'ahead' : 'behind'}: deliveries count for 5 minutes.`;
}
