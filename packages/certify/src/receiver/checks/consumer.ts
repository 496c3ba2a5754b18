import { CHANGE_TYPES, listOf } from '../consumer-events.ts';
import { isSuccess, otherSecret, type ReceiverContext } from '../context.ts';
import { demand, demandOnce, settle, storeMessage } from '../effect.ts';
import { newId, type Payload } from '../events.ts';
import { accepted, type Need, onWire, type ReceiverCheck, refused } from '../receiver-check.ts';
import { deliveryChecks } from './delivery.ts';
import { asCheck, effectChecks } from './effects.ts';

const SECTION = 'An HTTP consumer';
const MINUTE_MS = 60_000;

const ANSWER =
  'Answer 2xx to every genuine request, in the default branch too, and to what you have already: any other answer makes the connector call again for ten minutes, while the connection waits, and set the change aside as a dead letter.';
const SIGNATURE =
  'Compute the HMAC over "<webhook-id>.<webhook-timestamp>.<raw body>" with the decoded secret, and accept the request if one of the signatures, separated by spaces, is "v1," and the whole digest in base64. The libraries of Standard Webhooks do this.';
const TIME =
  'Compare webhook-timestamp, in seconds, with your clock, in both directions, and refuse more than 5 minutes.';
const LISTS =
  'If the batch of the consumer is above 1, the body contains "changes" instead of "change", even if it is one. A list of 100 long texts has 2 MB.';
const LATER =
  'Store the change and answer. Do the rest later: the connector waits 30 s, then calls again with the same key, and delivers the changes of 50 connections at a time.';
const KEY =
  'Store the key of each change in the transaction of its effect: INSERT … ON CONFLICT DO NOTHING, and no effect if it was there. The webhook-id of a list identifies no change. Answer 5xx if you cannot store, and let nothing of the attempt stay.';

const wireChecks = onWire(SECTION, [
  accepted('change.message', 'A change is answered with a 2xx.', ANSWER, () => [{}]),
  accepted('change.types', 'A change of each type is answered with a 2xx.', ANSWER, ({ events }) =>
    CHANGE_TYPES.map((type) => ({ body: events.other(type), as: type })),
  ),
  accepted('change.unknown', 'Unknown types and fields are answered with a 2xx.', ANSWER, ({ events }) => [
    { body: events.other('reaction.created', { emoji: '+1' }), as: 'change of an unknown type' },
    { body: { ...events.received({ addedLater: { nested: [1, null] } }), addedLater: '' } },
  ]),
  accepted(
    'attempt.later',
    'The same key in later attempts is answered with a 2xx.',
    ANSWER,
    ({ events }) => {
      const first = events.received();
      return [1, 2, 3].map((attempt) => ({ body: { ...first, attempt }, as: `attempt ${attempt}` }));
    },
  ),
  accepted(
    'batch.list',
    'A list is accepted, of one change, and of as many long ones as the batch allows.',
    LISTS,
    ({ events, inputs: { batch, connectionId = newId() } }) => {
      const message = { text: '你👋é.'.repeat(819), connectionId };
      const changes = Array.from({ length: 1 + (batch ?? 1) }, () => events.received(message));
      return [changes.slice(0, 1), changes.slice(1)].map((list) => ({
        body: listOf(list),
        as: `list of ${list.length}`,
      }));
    },
    { needs: ['batch'] },
  ),
  accepted(
    'rotation.both',
    'During a rotation a request has two signatures, and is accepted if either is yours.',
    SIGNATURE,
    ({ inputs: { secret } }) =>
      [`${secret} ${otherSecret(secret)}`, `${otherSecret(secret)} ${secret}`].map((both) => ({
        secret: both,
      })),
  ),
  refused(
    'signature.invalid',
    'Signatures with other secrets, for another body, or truncated are refused.',
    SIGNATURE,
    ({ inputs: { secret } }) => [
      { secret: otherSecret(secret), as: 'request signed with another secret' },
      { secret: `${otherSecret(secret)} ${otherSecret(otherSecret(secret))}`, as: 'two wrong signatures' },
      { alter: (body) => Buffer.from(body.toString().replace('你好', '好你')), as: 'changed body' },
      {
        headers: (all) => all.map(([name, text]) => [name, text.replace(/^(v1,.+).{20}$/, '$1')]),
        as: 'half a digest',
      },
    ],
  ),
  refused('signature.missing', 'A request without one of the three headers is refused.', SIGNATURE, () =>
    [0, 1, 2].map((left) => ({ headers: (all) => all.filter((_, index) => index !== left) })),
  ),
  refused('timestamp.stale', 'A request that was signed 6 minutes ago is refused.', TIME, () => [
    { ageMs: 6 * MINUTE_MS },
  ]),
  refused(
    'timestamp.future',
    'A request that was signed 6 minutes in the future is refused.',
    TIME,
    () => [{ ageMs: -6 * MINUTE_MS }],
    { level: 'should' },
  ),
  {
    id: 'delivery.at-once',
    rule: '50 changes of as many connections at once are answered with a 2xx, each within 30 s.',
    hint: LATER,
    needs: ['loopback'],
    timeoutMs: 5 * MINUTE_MS,
    async run({ accepts, events }) {
      await Promise.all(Array.from({ length: 50 }, () => accepts({ body: events.received() })));
    },
  },
]);

/** A check that delivers the first of two messages in some way, then the second, and demands each once. */
const once = (
  id: string,
  rule: string,
  act: (context: ReceiverContext, first: Payload, second: Payload) => Promise<void>,
  ...needs: readonly Need[]
): ReceiverCheck => {
  const run = async (context: ReceiverContext): Promise<void> => {
    await storeMessage(context);
    const ids = [newId(), newId()];
    const { connectionId = newId() } = context.inputs;
    const [first = {}, second = {}] = ids.map((one) => context.events.received({ id: one, connectionId }));
    await act(context, first, second);
    await context.accepts({ body: second });
    await settle(context);
    await demand(context, demandOnce(ids, KEY, KEY));
  };
  return asCheck({ id, section: SECTION, rule, hint: KEY }, run, ['observer', ...needs]);
};

const also = (checks: readonly ReceiverCheck[], ids: readonly string[]): readonly ReceiverCheck[] =>
  checks.filter(({ id }) => ids.includes(id)).map((check) => ({ ...check, section: SECTION }));

/** Every check of an HTTP consumer, in the order in which they run. */
export const CONSUMER_CHECKS: readonly ReceiverCheck[] = [
  ...wireChecks,
  ...also(deliveryChecks, ['body.in-two-parts', 'connection.kept', 'delivery.afterwards']),
  ...also(effectChecks, ['effects.stored', 'effects.at-once']),
  once(
    'effects.once',
    'A change has one effect, although its key comes again: at the same moment, or later.',
    async ({ accepts, deliver }, first) => {
      const copies = Array.from({ length: 20 }, (_, index) => ({ ...first, attempt: index + 1 }));
      await Promise.all(copies.map((body) => deliver({ body })));
      await accepts({ body: { ...first, attempt: 21 } });
    },
  ),
  once(
    'effects.once-in-list',
    'A change has one effect, although it comes again in a list with others.',
    async ({ accepts }, first, second) => {
      await accepts({ body: listOf([first]) });
      await accepts({ body: listOf([first, second], 2) });
    },
    'batch',
  ),
  once(
    'effects.after-trouble',
    'A change that could not be stored has its effect when it comes again.',
    async ({ attempt, inputs: { storage }, clock, journal }, first) => {
      // No answer is a failure as well.
      const call = (body: Payload) => attempt({ body }).then(isSuccess, () => false);
      await storage?.('stop');
      let taken = await call(first).finally(() => storage?.('start'));
      for (let number = 2; !taken && number <= 5; number += 1) {
        await clock.sleep(1_000 * number, journal.current().signal);
        taken = await call({ ...first, attempt: number });
      }
    },
    'storage',
  ),
  ...also(effectChecks, ['effects.killed']),
];
