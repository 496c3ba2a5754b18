import { Violation } from '../../runner/check.ts';
import { isSuccess, newId, otherSecret, type ReceiverContext } from '../context.ts';
import type { Observed } from '../observer.ts';
import type { ReceiverCheck } from '../receiver-check.ts';

/** How long an effect may take. A worker behind the receiver may be slow. */
const PATIENCE_MS = 5_000;
/** How long to wait for an effect that must not happen. */
const QUIET_MS = 500;
const LOOK_MS = 100;

const NONE: Observed = { count: 0, status: null };

/** What the receiver has of a message, once `isDone`, or after the time limit. */
async function observe(
  { inputs, clock, journal }: ReceiverContext,
  id: string,
  isDone: (observed: Observed) => boolean,
  patienceMs = PATIENCE_MS,
): Promise<Observed> {
  const began = clock.elapsed();
  for (;;) {
    const observed = (await inputs.observer?.())?.get(id) ?? NONE;
    if (isDone(observed) || clock.elapsed() - began >= patienceMs) return observed;
    await clock.sleep(LOOK_MS, journal.current().signal);
  }
}

/** Waits for a message and then for more of it. @throws Violation unless it is there once */
async function expectOnce(context: ReceiverContext, id: string): Promise<void> {
  await observe(context, id, ({ count }) => count > 0);
  const { count } = await observe(context, id, (observed) => observed.count > 1, QUIET_MS);
  if (count !== 1)
    throw new Violation('the message once', count === 0 ? 'no message' : `the message ${count} times`);
}

/** Delivers statuses one after the other. @throws Violation unless the last of them to count is observed in the end */
async function expectStatus(
  context: ReceiverContext,
  statuses: readonly string[],
  expected: string,
): Promise<void> {
  const id = newId();
  for (const status of statuses) await context.accepts({ body: context.events.status(id, status) });
  await observe(context, id, ({ status }) => status === expected);
  // It must not fall again.
  const { status } = await observe(context, id, (observed) => observed.status !== expected, QUIET_MS);
  if (status !== expected) {
    throw new Violation(`${expected} after ${statuses.join(', ')}`, status ?? 'no status');
  }
}

const STATUS =
  'Give each status a rank (sent 1, delivered 2, read 3, failed 4; read and failed are final), and store a status only if its rank is higher, in one UPDATE. src/patterns/message-status.ts shows it.';
const ONCE =
  'Let the database decide: a unique index on the message id, and INSERT … ON CONFLICT DO NOTHING. A SELECT before the INSERT lets two copies through; so does an await between the look-up and the write. A copy is answered with a 2xx.';
const FIRST =
  'Store, commit, and only then answer: an event that was answered with a 2xx is never sent again.';

function effect(
  id: string,
  section: string,
  rule: string,
  hint: string,
  run: (context: ReceiverContext) => Promise<void>,
  needs: ReceiverCheck['needs'] = ['observer'],
): ReceiverCheck {
  return {
    id: `effects.${id}`,
    tier: 'E',
    section,
    level: 'must',
    rule,
    hint,
    needs,
    timeoutMs: 60_000,
    run,
  };
}

const LADDER = 'Message status ladder';
const COPIES = 20;
const BEFORE_KILL = 30;
const ANSWERED_BEFORE = 10;

export const effectChecks: readonly ReceiverCheck[] = [
  effect(
    'once',
    'Delivery and signature',
    'A message that is delivered three times is stored once.',
    ONCE,
    async (context) => {
      const id = newId();
      const body = context.events.received(id);
      for (let copy = 0; copy < 3; copy += 1) await context.deliver({ body });
      await expectOnce(context, id);
    },
  ),
  effect(
    'once-at-once',
    'Delivery and signature',
    `A message that is delivered ${COPIES} times at the same moment is there once.`,
    ONCE,
    async (context) => {
      const id = newId();
      const body = context.events.received(id);
      await Promise.all(Array.from({ length: COPIES }, () => context.deliver({ body })));
      await expectOnce(context, id);
    },
  ),
  effect(
    'forged',
    'Delivery and signature',
    'A delivery with a wrong signature has no effect.',
    'Verify before you store or queue anything. src/patterns/verify-signature.ts shows it.',
    async (context) => {
      const id = newId();
      await context.deliver({
        body: context.events.received(id),
        secret: otherSecret(context.inputs.secret),
        as: 'delivery signed with another secret',
      });
      const { count } = await observe(context, id, (observed) => observed.count > 0, QUIET_MS);
      if (count > 0) throw new Violation('no message', 'the message');
    },
  ),
  effect('status.rises', LADDER, 'A status rises from sent to delivered to read.', STATUS, (context) =>
    expectStatus(context, ['sent', 'delivered', 'read'], 'read'),
  ),
  effect('status.late', LADDER, 'A late delivered or sent does not replace read.', STATUS, (context) =>
    expectStatus(context, ['read', 'delivered', 'sent'], 'read'),
  ),
  effect('status.repeated', LADDER, 'A repeated sent does not replace delivered.', STATUS, (context) =>
    expectStatus(context, ['sent', 'delivered', 'sent'], 'delivered'),
  ),
  effect('status.failed', LADDER, 'Failed is final.', STATUS, (context) =>
    expectStatus(context, ['sent', 'failed', 'delivered'], 'failed'),
  ),
  effect(
    'status.first',
    LADDER,
    'A status that arrives before its message is kept.',
    'Store the status of an unknown message, or keep the delivery until the message has arrived: it is not sent again.',
    (context) => expectStatus(context, ['delivered'], 'delivered'),
  ),
  effect(
    'killed',
    'Delivery and signature',
    'What was answered with a 2xx is stored after the receiver has been killed and restarted; anything else is stored once after it has been delivered again.',
    FIRST,
    async (context) => {
      const { inputs, deliver, events } = context;
      const ids = Array.from({ length: BEFORE_KILL }, () => newId());
      const answered = new Set<string>();
      // One after the other, so that some are answered before the kill, and one is in the middle of it.
      const sending = (async () => {
        for (const id of ids) {
          const isTaken = await deliver({ body: events.received(id) }).then(isSuccess, () => false);
          if (!isTaken) return;
          answered.add(id);
        }
      })();
      const sent = sending.then(() => 'over');
      while (answered.size < ANSWERED_BEFORE) {
        const wait = context.clock.sleep(1, context.journal.current().signal).then(() => 'goes on');
        if ((await Promise.race([sent, wait])) === 'over') break;
      }
      await inputs.restart?.();
      await sending;
      for (const id of ids) {
        if (answered.has(id)) continue;
        await context.accepts({
          body: events.received(id),
          as: 'delivery that is repeated after the restart',
        });
      }
      for (const id of ids) {
        const { count } = await observe(context, id, (observed) => observed.count > 0);
        if (count === 1) continue;
        const was = answered.has(id) ? 'answered with a 2xx before' : 'delivered again after';
        throw new Violation(
          'each message once',
          `a message that was ${was} the restart is there ${count} times`,
        );
      }
    },
    ['observer', 'restart'],
  ),
];
