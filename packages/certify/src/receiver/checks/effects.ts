import { Skip, Violation } from '../../runner/check.ts';
import type { Observed, Seen } from '../../runner/observer.ts';
import { type Delivery, isSuccess, otherSecret, type ReceiverContext } from '../context.ts';
import {
  demand,
  demandOnce,
  type Effect,
  type Judge,
  NOTHING,
  ONCE,
  STORE_FIRST,
  settle,
  storeAtOnce,
  storeMessage,
} from '../effect.ts';
import { newId } from '../events.ts';
import type { ReceiverCheck } from '../receiver-check.ts';
import { statusEffects } from './statuses.ts';

const SECTION = 'Delivery and signature';
const COPIES = 20;
const OTHERS = 200;
const ABREAST = 10;
const BEFORE_KILL = 30;
const ANSWERED_BEFORE = 10;
/** Hundreds of deliveries are made during the first of these checks. */
const TIMEOUT_MS = 5 * 60_000;
/** A signature is repeated while it counts for certain. */
const SIGNED_FOR_MS = 4 * 60_000;

const BY_ID =
  'Recognize a copy by a unique index on message.id, and by nothing else: wa_id is for debugging and may be null, texts repeat, and a copy may have other bytes.';
const IN_MEMORY =
  'The copy was recognized only in memory, which is limited and lost at a restart, or for some time. Let the database decide: a unique index on the message id, and INSERT … ON CONFLICT DO NOTHING.';
const WHOLE_TEXT =
  'Store the text as it is, in a column of type text: it has up to 4096 characters of Unicode. Decode the body as UTF-8, once.';
const FILES = 'A file has no text. Store a message whose text is null, with media_url and media_type.';
const KEEP_TEXT =
  'A status changes only the status, and a message fills the row that its status has created: INSERT … ON CONFLICT (id) DO UPDATE SET text = excluded.text, and UPDATE … SET status for a status. Do not take the status and the message of one id for copies.';

const LONG = '你a👋ß'.repeat(4096 / 5).padEnd(4096, '.');
const TEXTS = [
  'Grüße 👋🏽 مرحبا 你好',
  `${'certify '.repeat(40)}.`,
  `a "quoted" 'text' with <b>, &amp;, \\n, %s, {{x}} and\na second line`,
  LONG,
];
const FILE = { media_url: 'https://example.com/certify/voice-1.ogg', media_type: 'audio/ogg' };
const RETURNS_TEXT = 'an observer that returns text';

/** Whether the observer returns a field at all. */
function returns(seen: Seen, field: 'text' | 'mediaUrl' | 'mediaType'): boolean {
  return [...seen.values()].some((message) => message[field] !== undefined);
}

/** How a text was changed. */
function describeText(sent: string, stored: string | null): string {
  if (stored === null || stored === '') return 'no text';
  if (sent.startsWith(stored)) return `its first ${stored.length} characters`;
  let same = 0;
  while (sent[same] === stored[same]) same += 1;
  return `another text, "${stored.slice(same, same + 20)}" from character ${same} on`;
}

/** A judge that wants a message once, with what the observer returns of it. */
function demandWhole(id: string, sent: Partial<Observed>, hint: string): Judge {
  return (seen) => {
    const lost = demandOnce([id])(seen);
    if (lost !== undefined) return lost.actual === 'no message' ? withHint(lost, hint) : lost;
    const message = seen.get(id) ?? NOTHING;
    const { text } = sent;
    if (text && returns(seen, 'text') && message.text !== text)
      return new Violation(
        'the text as it was sent',
        describeText(text, message.text ?? null),
        undefined,
        hint,
      );
    for (const field of ['mediaUrl', 'mediaType'] as const) {
      const [wanted, found] = [sent[field], message[field] ?? null];
      if (wanted && returns(seen, field) && found !== wanted)
        return new Violation(`${field} ${wanted}`, String(found), undefined, hint);
    }
    return undefined;
  };
}

const withHint = ({ expected, actual }: Violation, hint: string): Violation =>
  new Violation(expected, actual, undefined, hint);

/** The first violation that one of these judges finds. */
const all =
  (judges: readonly Judge[]): Judge =>
  (seen) =>
    judges.map((judge) => judge(seen)).find((violation) => violation !== undefined);

/** A delivery that can be made again with the same bytes and signature. */
const sign = ({ clock }: ReceiverContext, body: object): Delivery => ({ body, at: clock.now() });

const effects: readonly Effect[] = [
  {
    id: 'effects.once',
    section: SECTION,
    rule: 'A message that is delivered three times is stored once.',
    hint: ONCE,
    async act(context) {
      const id = newId();
      const delivery = sign(context, context.events.received({ id }));
      for (let copy = 0; copy < 3; copy += 1) await context.deliver(delivery);
      return demandOnce([id]);
    },
  },
  {
    id: 'effects.once-at-once',
    section: SECTION,
    rule: `A message that is delivered ${COPIES} times at the same moment is stored once.`,
    hint: ONCE,
    async act(context) {
      const id = newId();
      const delivery = sign(context, context.events.received({ id }));
      await Promise.all(Array.from({ length: COPIES }, () => context.deliver(delivery)));
      return demandOnce([id]);
    },
  },
  {
    id: 'effects.by-id',
    section: SECTION,
    rule: 'Copies are recognized by message.id: a copy with other bytes is one, a message with another id is none.',
    hint: BY_ID,
    async act({ accepts, deliver, events }) {
      const ids = Array.from({ length: 5 }, () => newId());
      const [copied, ...others] = ids;
      const { event, ...rest } = events.received({ id: copied });
      await accepts({ body: { event, ...rest } });
      await deliver({ body: { ...rest, event }, as: 'copy with another order of keys' });
      for (const wa_id of ['3EB0CE27', null]) {
        const alike = { text: `certify ${wa_id}`, timestamp: 1_763_700_000_000, wa_id };
        for (const id of others.splice(0, 2)) await accepts({ body: events.received({ ...alike, id }) });
      }
      return (seen) => {
        const violation = demandOnce(ids)(seen);
        return violation && withHint(violation, BY_ID);
      };
    },
  },
  {
    id: 'effects.text',
    section: 'message.received',
    rule: 'A text is stored as it was sent: all of its 4096 characters, in any script.',
    hint: WHOLE_TEXT,
    async act({ accepts, events }) {
      const judges: Judge[] = [];
      for (const text of TEXTS) {
        const id = newId();
        await accepts({ body: events.received({ id, text }) });
        judges.push(demandWhole(id, { text }, WHOLE_TEXT));
      }
      return (seen) => {
        if (!returns(seen, 'text')) throw new Skip('the observer returns no text', RETURNS_TEXT);
        return all(judges)(seen);
      };
    },
  },
  {
    id: 'effects.file',
    section: 'message.received',
    rule: 'A message without text is stored, with its file.',
    hint: FILES,
    async act({ accepts, events }) {
      const [file, bare] = [newId(), newId()];
      await accepts({ body: events.received({ id: file, text: null, ...FILE }) });
      await accepts({ body: events.received({ id: bare, text: null }) });
      const sent = { mediaUrl: FILE.media_url, mediaType: FILE.media_type };
      return all([demandWhole(file, sent, FILES), demandWhole(bare, {}, FILES)]);
    },
  },
  {
    id: 'effects.text-kept',
    section: 'message.status',
    rule: 'A status changes neither text nor file of its message, whichever arrives first.',
    hint: KEEP_TEXT,
    async act({ accepts, deliver, events }) {
      const [before, after] = [newId(), newId()];
      const message = { text: 'certify, before its status', ...FILE };
      const sent = { text: message.text, mediaUrl: FILE.media_url, mediaType: FILE.media_type };
      await accepts({ body: events.received({ id: before, ...message }) });
      await deliver({ body: events.status(before, 'delivered') });
      await deliver({ body: events.status(after, 'delivered') });
      await accepts({ body: events.received({ id: after, ...message }) });
      return all([demandWhole(before, sent, KEEP_TEXT), demandWhole(after, sent, KEEP_TEXT)]);
    },
  },
  {
    id: 'effects.forged',
    section: SECTION,
    rule: 'A delivery with a wrong signature has no effect.',
    hint: 'Verify before you store or queue anything. src/patterns/verify-signature.ts shows it.',
    async act({ deliver, events, inputs }) {
      const id = newId();
      const secret = otherSecret(inputs.secret);
      await deliver({ body: events.received({ id }), secret, as: 'delivery signed with another secret' });
      return (seen) => (seen.has(id) ? new Violation('no message', 'the message') : undefined);
    },
  },
  ...statusEffects,
  {
    id: 'effects.once-later',
    section: SECTION,
    rule: 'A message that is delivered again after hundreds of others is stored once.',
    hint: IN_MEMORY,
    async act(context) {
      const { body, at = 0 } = await storeMessage(context);
      const isOld = context.clock.now() - at > SIGNED_FOR_MS;
      for (let others = 0; others < OTHERS; others += ABREAST)
        await Promise.all(
          Array.from({ length: ABREAST }, () => context.accepts({ body: context.events.received() })),
        );
      await context.deliver(isOld ? { body } : { body, at });
      const { id } = (body as { message: { id: string } }).message;
      return demandOnce([id], IN_MEMORY);
    },
  },
];

/** Makes all deliveries, so that a slow receiver is waited for once. Resolves with the judges and the time. */
function play(context: ReceiverContext) {
  return context.once('the deliveries of level E', async () => {
    await storeAtOnce(context);
    const judges = new Map<string, Judge>();
    for (const { id, act } of effects) {
      const judge = await act(context).catch((error: unknown): Judge => {
        // Without an answer, there will be no others. A refusal is the result of this check.
        if (error instanceof Violation && error.exchange?.status === 0) throw error;
        return () => {
          throw error;
        };
      });
      judges.set(id, judge);
    }
    await settle(context);
    return { judges, since: context.clock.elapsed() };
  });
}

/** A check of level E, which needs an observer and what else is named. */
export function asCheck(
  { id, section, rule, hint }: Omit<Effect, 'act'>,
  run: (context: ReceiverContext) => Promise<unknown>,
  needs: ReceiverCheck['needs'] = ['observer'],
): ReceiverCheck {
  return {
    id,
    tier: 'E',
    section,
    level: 'must',
    rule,
    hint,
    needs,
    timeoutMs: TIMEOUT_MS,
    run: async (context) => void (await run(context)),
  };
}

export const effectChecks: readonly ReceiverCheck[] = [
  asCheck(
    {
      id: 'effects.stored',
      section: SECTION,
      rule: 'A message that was answered with a 2xx is stored.',
      hint: STORE_FIRST,
    },
    storeMessage,
  ),
  asCheck(
    {
      id: 'effects.at-once',
      section: SECTION,
      rule: '50 different messages at once are stored, each once and unchanged.',
      hint: STORE_FIRST,
    },
    storeAtOnce,
    ['observer', 'loopback'],
  ),
  ...effects.map((effect) =>
    asCheck(effect, async (context) => {
      const { judges, since } = await play(context);
      const judge = judges.get(effect.id);
      if (judge !== undefined) await demand(context, judge, since);
    }),
  ),
  asCheck(
    {
      id: 'effects.killed',
      section: SECTION,
      rule: 'What was answered with a 2xx is stored after the receiver has been killed and restarted. Whatever is delivered again then is stored once.',
      hint: STORE_FIRST,
    },
    async (context) => {
      const { inputs, clock, journal } = context;
      await storeAtOnce(context);
      const made = Array.from({ length: BEFORE_KILL }, () => {
        const id = newId();
        return { id, delivery: sign(context, context.events.received({ id })) };
      });
      const answered: string[] = [];
      // One after the other, so that some are answered before the kill, and one is in the middle of it.
      const sending = (async () => {
        for (const { id, delivery } of made) {
          if (!(await context.attempt(delivery).then(isSuccess, () => false))) return;
          answered.push(id);
        }
      })();
      const sent = sending.then(() => 'over');
      while (answered.length < ANSWERED_BEFORE) {
        const wait = clock.sleep(1, journal.current().signal).then(() => 'goes on');
        if ((await Promise.race([sent, wait])) === 'over') break;
      }
      await inputs.restart?.();
      await sending;
      await demand(context, (seen) => {
        const lost = answered.filter((id) => !seen.has(id)).length;
        if (lost === 0) return undefined;
        return new Violation(
          'each message',
          `${lost} of ${answered.length} that were answered are not there`,
        );
      });
      for (const { id, delivery } of made) {
        const again = { ...delivery, as: 'delivery that is repeated after the restart' };
        await (answered.includes(id) ? context.deliver(again) : context.accepts(again));
      }
      await settle(context);
      const ids = made.map(({ id }) => id);
      await demand(context, demandOnce(ids, IN_MEMORY));
    },
    ['observer', 'restart'],
  ),
];
