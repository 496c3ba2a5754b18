import { Skip, Violation } from '../runner/check.ts';
import type { Observed, Seen } from '../runner/observer.ts';
import { type Delivery, isSuccess, type ReceiverContext } from './context.ts';
import { newId, TEST_CONNECTION } from './events.ts';
import { isLoopback, type ReceiverCheck } from './receiver-check.ts';

/** What is wrong with what the receiver has; undefined if the rule is kept. */
export type Judge = (seen: Seen) => Violation | undefined;

/** A check of level E: deliveries, and what the receiver must have after all of them. */
export interface Effect extends Pick<ReceiverCheck, 'id' | 'section' | 'rule' | 'hint'> {
  act(context: ReceiverContext): Promise<Judge>;
}

const LOOK_MS = 100;
/** How long what must not happen may still take after a later delivery had its effect. */
const QUIET_MS = 500;
const AT_ONCE = 50;

export const STORE_FIRST =
  'Store, commit, and only then answer: an event that was answered with a 2xx is never sent again.';
export const ONCE =
  'Let the database decide: a unique index on the message id, and INSERT … ON CONFLICT DO NOTHING. A SELECT before the INSERT lets two copies through; so does an await between the look-up and the write. A copy is answered with a 2xx.';
const TOGETHER =
  'Messages that arrive at the same moment replace each other or are dropped. Store each by itself in one statement: do not read, change and write a shared list, file or variable, do not share variables between requests, and do not drop what a full queue cannot take.';
const NOT_STORED = `${STORE_FIRST} Does the observer read the right place?`;

export const NOTHING: Observed = {
  count: 0,
  status: null,
  text: undefined,
  mediaUrl: undefined,
  mediaType: undefined,
};

/** What the receiver has now. */
export async function look({ inputs }: ReceiverContext): Promise<Seen> {
  return (await inputs.observer?.()) ?? new Map();
}

/** Looks until the rule is kept. @throws Violation if it is not within the patience, which begins at `since` */
export async function demand(
  context: ReceiverContext,
  judge: Judge,
  since = context.clock.elapsed(),
): Promise<void> {
  const { clock, journal, patienceMs } = context;
  journal.current().extend(patienceMs);
  for (;;) {
    const violation = judge(await look(context));
    if (violation === undefined) return;
    if (clock.elapsed() - since >= patienceMs) throw violation;
    await clock.sleep(LOOK_MS, journal.current().signal);
  }
}

/** A judge that wants each of these messages once. */
export const demandOnce =
  (ids: readonly string[], hint = ONCE, lost = NOT_STORED): Judge =>
  (seen) => {
    const counts = ids.map((id) => seen.get(id)?.count ?? 0);
    const wrong = counts.find((count) => count > 1) ?? counts.find((count) => count === 0);
    if (wrong === undefined) return undefined;
    return wrong === 0
      ? new Violation('the message once', 'no message', undefined, lost)
      : new Violation('the message once', `the message ${wrong} times`, undefined, hint);
  };

/** A message that the receiver has, so that the observer and a worker behind the receiver are known to work. */
export function storeMessage(context: ReceiverContext): Promise<Delivery> {
  return context.once('a message that is stored', async () => {
    const { inputs, events, clock, patienceMs } = context;
    const id = newId();
    const delivery: Delivery = { body: events.received({ id }), at: clock.now() };
    await context.accepts(delivery);
    try {
      await demand(context, demandOnce([id]));
    } catch (error) {
      if (!(error instanceof Violation) || inputs.connectionId !== undefined) throw error;
      throw new Skip(
        `a message was answered with a 2xx, and is not observed within ${patienceMs / 1_000} s. If the receiver ignores connections that it does not know, such as ${TEST_CONNECTION}, pass one that it knows with --connection; if it is slow, pass more seconds with --patience`,
      );
    }
    return delivery;
  });
}

/** Different messages that were delivered at the same moment, and that the receiver has. */
export function storeAtOnce(context: ReceiverContext): Promise<void> {
  return context.once('messages that arrive at once', async () => {
    await storeMessage(context);
    if (!isLoopback(context.inputs.url)) return;
    const texts = new Map(Array.from({ length: AT_ONCE }, (_, index) => [newId(), `certify ${index}`]));
    const taken = new Set<string>();
    await Promise.all(
      [...texts].map(async ([id, text]) => {
        if (isSuccess(await context.deliver({ body: context.events.received({ id, text }) }))) taken.add(id);
      }),
    );
    await demand(context, (seen) => {
      const isKept = (id: string): boolean => {
        const { count, text } = seen.get(id) ?? NOTHING;
        return count === 1 && (text === undefined || text === texts.get(id));
      };
      const kept = [...taken].filter(isKept).length;
      if (kept === taken.size) return undefined;
      const what = `${taken.size} different messages, each once`;
      return new Violation(what, `${kept} of them are as they were sent`, undefined, TOGETHER);
    });
  });
}

/** Waits until what was delivered before has had its effects: a message that is delivered now has its own. */
export async function settle(context: ReceiverContext): Promise<void> {
  const id = newId();
  await context.accepts({ body: context.events.received({ id }) });
  await demand(context, demandOnce([id]));
  await context.clock.sleep(QUIET_MS, context.journal.current().signal);
}
