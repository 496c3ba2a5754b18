import { Violation } from '../../runner/check.ts';
import type { Exchange } from '../../runner/exchange.ts';
import type { Seen } from '../../runner/observer.ts';
import { isSuccess, type ReceiverContext } from '../context.ts';
import { demand, type Effect, type Judge, look, settle } from '../effect.ts';
import { newId } from '../events.ts';

const SECTION = 'Message status ladder';
const STATUSES = ['sent', 'delivered', 'read', 'failed'] as const;
type Status = (typeof STATUSES)[number];

const PATTERN = 'src/patterns/message-status.ts shows it.';
const RANKS = `Give each status a rank (sent 1, delivered 2, read 3), and store a status only if its rank is higher, in one UPDATE; read and failed are final. ${PATTERN}`;
const SKIPPED = `A status may be left out or overtaken: compare ranks, and demand no particular status before another. ${PATTERN}`;
const FAILED = `Failed may come first or follow sent or delivered, and is final: no other status replaces it. ${PATTERN}`;
const READ_IS_FINAL = `Read is final: failed does not replace it, whatever rank you give it. ${PATTERN}`;
const EARLY =
  'Keep the status of a message that is not known yet, in its row or in a table of pending statuses, and apply it when the message arrives: it is not sent again. If it is stored, does the observer return a status?';
const SAME_ID =
  'Only the first event of a message counted. All events of a message have the same message.id: recognize copies of message.received by it, and decide about statuses by their rank.';
const NO_STATUS =
  'The status of a stored message was not stored. Does a status look up the message by message.id?';

/** Whether this holds within the patience. */
const comes = (context: ReceiverContext, holds: (seen: Seen) => boolean): Promise<boolean> =>
  demand(context, (seen) => (holds(seen) ? undefined : new Violation('it holds', 'it does not'))).then(
    () => true,
    (error: unknown) => {
      if (error instanceof Violation) return false;
      throw error;
    },
  );

/** What a receiver makes of the status of a message that it does not have. */
interface Early {
  /** Shown at once, shown when the message has arrived, or never. */
  readonly kept: 'shown' | 'pending' | 'lost';
  readonly refusal: Exchange | undefined;
}

function tryEarly(context: ReceiverContext): Promise<Early> {
  return context.once('the status of an unknown message', async () => {
    const { events } = context;
    const id = newId();
    const answer = await context.deliver({ body: events.status(id, 'delivered') });
    const refusal = isSuccess(answer) ? undefined : answer;
    const isShown = (seen: Seen): boolean => seen.get(id)?.status === 'delivered';
    await settle(context);
    if (isShown(await look(context))) return { kept: 'shown', refusal };
    await context.accepts({ body: events.received({ id }) });
    return { kept: (await comes(context, isShown)) ? 'pending' : 'lost', refusal };
  });
}

/** Statuses of one message in the order of their delivery, and when the message itself arrives. */
interface Climb {
  readonly id: string;
  readonly statuses: readonly Status[];
  readonly message: 'never' | 'before' | 'after';
}

/** Every order of some of the statuses. */
function ordersOf(statuses: readonly Status[]): readonly (readonly Status[])[] {
  return statuses.flatMap((first) => {
    const others = statuses.filter((status) => status !== first);
    return [[first], ...ordersOf(others).map((order) => [first, ...order])];
  });
}

const ORDERS = ordersOf(STATUSES);
const REPEATED: readonly (readonly Status[])[] = [
  ['sent', 'sent', 'delivered'],
  ['sent', 'delivered', 'sent'],
  ['sent', 'delivered', 'delivered', 'sent'],
  ['read', 'read', 'delivered', 'read'],
];

const isFinal = (status: Status): boolean => status === 'read' || status === 'failed';

/** How many statuses there are up to the first final one. */
function untilFinal(statuses: readonly Status[]): number {
  return statuses.findIndex(isFinal) + 1 || statuses.length;
}

/** The first final status counts, otherwise the highest. */
function statusAfter(statuses: readonly Status[]): Status {
  return statuses.find(isFinal) ?? (statuses.includes('delivered') ? 'delivered' : 'sent');
}

/** All climbs. A receiver that shows statuses without messages gets only these. */
function climb(context: ReceiverContext): Promise<readonly Climb[]> {
  return context.once('statuses in every order', async () => {
    const { kept } = await tryEarly(context);
    const places = { shown: ['never'], pending: ['before', 'after'], lost: ['before'] } as const;
    const climbs = places[kept].flatMap((message) =>
      [...ORDERS, ...REPEATED].map((statuses): Climb => ({ id: newId(), statuses, message })),
    );
    const arrive = (id: string) => context.accepts({ body: context.events.received({ id }) });
    const report = async (id: string, statuses: readonly Status[]): Promise<void> => {
      for (const status of statuses) await context.accepts({ body: context.events.status(id, status) });
    };
    for (const { id, statuses, message } of climbs) {
      if (message === 'before') await arrive(id);
      await report(id, statuses.slice(0, untilFinal(statuses)));
    }
    // Who processes events later, and in any order, cannot know which of two final statuses came first.
    const observable = climbs.filter(({ message }) => message !== 'after');
    await comes(context, (seen) =>
      observable.every(
        ({ id, statuses }) => seen.get(id)?.status === statusAfter(statuses.slice(0, untilFinal(statuses))),
      ),
    );
    for (const { id, statuses, message } of climbs) {
      await report(id, statuses.slice(untilFinal(statuses)));
      if (message === 'after') await arrive(id);
    }
    return climbs;
  });
}

/** What the receiver has in the end, if it is not what it should be. */
interface Wrong {
  readonly climb: Climb;
  readonly found: string | null;
}

function findWrong(climbs: readonly Climb[], seen: Seen): readonly Wrong[] {
  return climbs
    .map((one) => ({ climb: one, found: seen.get(one.id)?.status ?? null }))
    .filter(({ climb: { statuses }, found }) => found !== statusAfter(statuses));
}

/** What the shortest wrong climb shows, which the others repeat. */
function explain(climbs: readonly Climb[], wrong: readonly Wrong[], seen: Seen): string {
  const [shortest] = wrong.toSorted((a, b) => a.climb.statuses.length - b.climb.statuses.length);
  if (shortest === undefined) return RANKS;
  const isFirst = ({ id, statuses, message }: Climb): boolean =>
    (seen.get(id)?.status ?? null) === (message === 'before' ? null : statuses[0]);
  if (climbs.every((one) => one.message === 'after' || isFirst(one))) return SAME_ID;
  const { found } = shortest;
  const { statuses } = shortest.climb;
  const expected = statusAfter(statuses);
  if (found === null && expected !== 'failed') return NO_STATUS;
  if (expected === 'failed') return FAILED;
  if (expected === 'read' && found === 'failed') return READ_IS_FINAL;
  const isLower = statuses.some(
    (status) => status === found && statuses.indexOf(status) < statuses.indexOf(expected),
  );
  return isLower ? SKIPPED : RANKS;
}

/** A check of those climbs to which the rule applies. */
function ladder(id: string, rule: string, applies: (statuses: readonly Status[]) => boolean): Effect {
  return {
    id: `effects.status.${id}`,
    section: SECTION,
    rule,
    hint: RANKS,
    async act(context) {
      const climbs = await climb(context);
      return (seen) => {
        const wrong = findWrong(climbs, seen);
        const here = wrong.find(({ climb: { statuses } }) => applies(statuses));
        if (here === undefined) return undefined;
        const { statuses, message } = here.climb;
        const place = message === 'never' ? '' : `, with the message ${message} them`;
        return new Violation(
          `${statusAfter(statuses)} after ${statuses.join(', ')}${place}`,
          here.found ?? 'no status',
          undefined,
          explain(climbs, wrong, seen),
        );
      };
    },
  };
}

const isRepeated = (statuses: readonly Status[]): boolean => new Set(statuses).size < statuses.length;
const rank = (status: Status): number => STATUSES.indexOf(status);
const isRising = (statuses: readonly Status[]): boolean =>
  statuses.every((status, index) => index === 0 || rank(status) > rank(statuses[index - 1] ?? status));
const hasFailed = (statuses: readonly Status[]): boolean => statuses.includes('failed');
const isReadFirst = (statuses: readonly Status[]): boolean =>
  statuses.includes('read') && statuses.indexOf('read') < statuses.indexOf('failed');

/** What becomes of statuses, in every order. Implements `Message status ladder`. */
export const statusEffects: readonly Effect[] = [
  {
    id: 'effects.status.first',
    section: SECTION,
    rule: 'A status that arrives before its message is kept.',
    hint: EARLY,
    async act(context): Promise<Judge> {
      const { kept, refusal } = await tryEarly(context);
      if (kept !== 'lost') return () => undefined;
      return () => new Violation('delivered, at the latest after the message', 'no status', refusal);
    },
  },
  ladder(
    'rises',
    'A status rises from sent to delivered to read, and may leave one out.',
    (all) => isRising(all) && !hasFailed(all),
  ),
  ladder(
    'late',
    'A status that arrives late changes nothing.',
    (all) => !isRising(all) && !isRepeated(all) && !hasFailed(all),
  ),
  ladder('repeated', 'A repeated status changes nothing.', isRepeated),
  ladder(
    'failed',
    'Failed may come first or follow sent or delivered, and is final.',
    (all) => hasFailed(all) && !isReadFirst(all),
  ),
  ladder('read', 'Failed does not replace read.', isReadFirst),
];
