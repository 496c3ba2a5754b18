import type { DeadLetter } from '../../../../../src/contract/connector/changes.ts';
import type { MessageTrace, TraceEntry } from '../../../../../src/contract/connector/trace.ts';
import type { ApiCall } from '../../../../../src/contract/sandbox/calls.ts';
import type { Delivery, DeliveryAttempt } from '../../../../../src/contract/sandbox/deliveries.ts';
import type { StoredMessage } from '../../../../../src/contract/sandbox/messages.ts';
import { showCount } from '../../ui/count.ts';
import type { Tone } from '../../ui/tone.ts';

/** Where a step happened, from the phone to the CRM. */
export const LANES = ['phone', 'service', 'attempts', 'connector', 'crm'] as const;
export type Lane = (typeof LANES)[number];

/** What is known about a message. Without a sandbox, only the trace of the connector. */
export interface JourneyFacts {
  readonly deliveries?: readonly Delivery[] | undefined;
  readonly calls?: readonly ApiCall[] | undefined;
  /** The message as the service stores it. */
  readonly stored?: StoredMessage | undefined;
  /** Undefined if the connector does not know the message. */
  readonly trace?: MessageTrace | undefined;
  /** Dead letters of any message. */
  readonly letters?: readonly DeadLetter[] | undefined;
}

/** The row of another screen that a step is about. */
export interface Place {
  readonly screen: 'deliveries' | 'calls' | 'connections' | 'phone' | 'sync';
  readonly id?: string;
  /** The other end, on a phone. */
  readonly with?: string;
}

/** One thing that happened to the message. Times are epoch milliseconds; undefined if unknown. */
export interface Step {
  readonly key: string;
  readonly lane: Lane;
  readonly title: string;
  readonly tone: Tone;
  readonly virtual?: number | undefined;
  readonly real?: number | undefined;
  /** Names and values that are shown when the step is opened. */
  readonly facts: readonly (readonly [name: string, value: string])[];
  readonly place?: Place;
  /** Of what the connector learnt: from whom. */
  readonly source?: TraceEntry['source'];
}

/** What a reader should know before reading the steps. */
export interface Finding {
  readonly tone: Tone;
  readonly text: string;
}

export interface Journey {
  /** In the order in which they happened. */
  readonly steps: readonly Step[];
  readonly findings: readonly Finding[];
  /** Whether virtual time differs from real time by a second or more in any step. */
  readonly isShifted: boolean;
}

const SHIFT_MS = 1_000;
const RANK: Readonly<Record<string, number>> = { sent: 1, delivered: 2, read: 3, failed: 4 };

/** The status and the virtual time in the body of an event; neither if it is not one. */
function readEvent({ body }: Delivery): { readonly status?: string; readonly at?: number } {
  try {
    const { message } = JSON.parse(body) as { message?: { status?: unknown; timestamp?: unknown } };
    const { status, timestamp } = message ?? {};
    return {
      ...(typeof status === 'string' ? { status } : {}),
      ...(typeof timestamp === 'number' ? { at: timestamp } : {}),
    };
  } catch {
    return {};
  }
}

function describeAttempt({ status, error, ms, faults }: DeliveryAttempt): string {
  const result =
    status === undefined ? (error ?? 'in flight') : `${status}${error === undefined ? '' : `, ${error}`}`;
  const by = faults === undefined ? '' : ` by the fault ${faults.join(', ')}`;
  return `${result}${by} · ${Math.round(ms)} ms`;
}

function describeOutcome({ outcome, held, reason, attempts }: Delivery): readonly [string, Tone] {
  const tries = showCount(attempts.length, 'attempt');
  if (held === true) return ['held', 'warn'];
  if (outcome === 'delivered') return [`accepted after ${tries}`, 'good'];
  if (outcome === 'pending') return [`under way, ${tries}`, 'plain'];
  return [reason === undefined ? `dropped after ${tries}` : `dropped, ${reason}`, 'bad'];
}

function stepsOfDelivery(delivery: Delivery, isFirstOfStatus: boolean): Step[] {
  const { id, event, copyOf, connectionId, attempts, createdAt } = delivery;
  const { status, at } = readEvent(delivery);
  const real = Date.parse(createdAt);
  const [outcome, tone] = describeOutcome(delivery);
  const name = status === undefined ? event : `${event} ${status}`;
  const words = { delivered: 'The phone received it', read: 'The contact read it' }[status ?? ''];
  const onPhone: Step[] =
    words === undefined || copyOf !== undefined || !isFirstOfStatus
      ? []
      : [
          {
            key: `phone ${id}`,
            lane: 'phone',
            title: words,
            tone: 'good',
            virtual: at,
            real,
            facts: [],
            place: { screen: 'connections', id: connectionId },
          },
        ];
  return [
    ...onPhone,
    {
      key: `delivery ${id}`,
      lane: 'attempts',
      title: copyOf === undefined ? `${name}: ${outcome}` : `Copy of ${copyOf}: ${name}: ${outcome}`,
      tone,
      virtual: copyOf === undefined ? at : undefined,
      real,
      facts: attempts.map((attempt, place) => [`Attempt ${place + 1}`, describeAttempt(attempt)] as const),
      place: { screen: 'deliveries', id },
    },
  ];
}

function stepOfCall({ id, at, method, path, tool, status, code, ms, trace }: ApiCall): Step {
  const refused = trace.find(({ passed }) => !passed);
  return {
    key: `call ${id}`,
    lane: 'service',
    title: `${method} ${path}${tool === undefined ? '' : ` ${tool}`} answered ${status ?? 'by a reset'}${code === null ? '' : ` ${code}`}`,
    tone: status !== null && status < 400 ? 'good' : 'bad',
    virtual: Date.parse(at),
    facts: [
      ['Took', `${Math.round(ms)} ms`],
      ...(refused === undefined
        ? []
        : [['Refused by', `${refused.check} ${refused.why ?? ''}`.trim()] as const]),
    ],
    place: { screen: 'calls', id },
  };
}

function stepsOfStored(stored: StoredMessage, wasSentByCall: boolean): Step[] {
  const { direction, peer, connectionId, createdAt, status, mediaType } = stored;
  const times = { virtual: Date.parse(createdAt) };
  const what = mediaType === null ? 'a text' : 'a file';
  if (direction === 'outgoing' && wasSentByCall) return [];
  const written: Step = {
    key: 'phone',
    lane: 'phone',
    title: direction === 'incoming' ? `+${peer} wrote ${what}` : `Written on the phone of the connection`,
    tone: 'good',
    ...times,
    facts: [],
    place:
      direction === 'incoming'
        ? { screen: 'phone', id: peer, with: connectionId }
        : { screen: 'connections', id: connectionId },
  };
  const kept: Step = {
    key: 'stored',
    lane: 'service',
    title: 'The service stored it',
    tone: 'good',
    ...times,
    facts: [
      ['Connection', connectionId],
      ['Status now', status],
    ],
    place: { screen: 'connections', id: connectionId },
  };
  return [written, kept];
}

const REFUSED: readonly unknown[] = ['other_account', 'does_not_fit', 'not_storable', 'unexplained'];
const FAILED_SENDS = ['rejected', 'unknown', 'delivered_not_stored'];

function toneOfEntry({ changed, reason, send, outcome }: TraceEntry): Tone {
  if (changed.length > 0 || outcome === 'sent') return 'good';
  if (REFUSED.includes(reason) || (send !== null && FAILED_SENDS.includes(outcome))) return 'bad';
  return send?.errorCode === null || send === null ? 'plain' : 'warn';
}

function stepsOfEntry(entry: TraceEntry, place: number): Step[] {
  const { at, source, event, status, changed, explanation, seqs, walk, delivery, send } = entry;
  const time = { real: Date.parse(at) };
  const isOfCrm = send?.attempts === 0 && entry.outcome === 'queued';
  const facts: (readonly [string, string | number | null])[] = [
    ['Source', source],
    ['Event', event === null ? null : `${event} ${status ?? ''}`.trim()],
    ['Poll', walk],
    [
      'Signed',
      delivery === null
        ? null
        : `${delivery.skewMs} ms before, secret version ${delivery.secretVersion ?? '–'}`,
    ],
    [
      'Copy',
      delivery?.duplicate !== null && (delivery?.duplicate ?? 1) > 1
        ? `${Number(delivery?.duplicate) - 1}`
        : null,
    ],
    ['Reference', send?.reference ?? null],
    ['Error', send?.errorCode ?? null],
    ['Changes', seqs.length === 0 ? null : seqs.join(', ')],
  ];
  const own: Step = {
    key: `entry ${place}`,
    lane: isOfCrm ? 'crm' : 'connector',
    title: explanation.replace(/\.$/, ''),
    tone: toneOfEntry(entry),
    source,
    ...time,
    facts: facts.flatMap(([name, value]) => (value === null ? [] : [[name, String(value)] as const])),
    ...(source === 'poll' || source === 'send' ? { place: { screen: 'sync' } as const } : {}),
  };
  if (changed.length === 0 || seqs.length === 0) return [own];
  const shown: Step = {
    key: `feed ${place}`,
    lane: 'crm',
    title: `${seqs.length === 1 ? 'Change' : 'Changes'} ${seqs.join(', ')} for the CRM`,
    tone: 'good',
    ...time,
    facts: [['Changed', changed.join(', ')]],
  };
  return [own, shown];
}

function stepOfLetter({ id, at, attempts, lastError, change }: DeadLetter): Step {
  return {
    key: `letter ${id}`,
    lane: 'crm',
    title: `The handler failed with change ${change.seq}, which was set aside`,
    tone: 'bad',
    real: Date.parse(at),
    facts: [
      ['Calls', String(attempts)],
      ['Last error', lastError],
    ],
    place: { screen: 'sync' },
  };
}

/** A poll that found something after a webhook was lost has repaired it. */
function markRepair(step: Step): Step {
  const isRepair = step.source === 'poll' && step.tone === 'good';
  return isRepair ? { ...step, tone: 'warn' } : step;
}

/** Real time of what is known in virtual time only, by the nearest earlier event that is known in both. */
function realTimes(steps: readonly Step[]): (step: Step) => number {
  const known = steps
    .flatMap(({ virtual, real }) => (virtual === undefined || real === undefined ? [] : [{ virtual, real }]))
    .sort((a, b) => a.virtual - b.virtual);
  return ({ virtual = 0, real }) => {
    if (real !== undefined) return real;
    const near = known.findLast((each) => each.virtual <= virtual) ?? known[0];
    return near === undefined ? virtual : virtual - (near.virtual - near.real);
  };
}

/** What was dropped, what repaired it, and what is still missing. */
function findingsOf({ deliveries = [], trace, stored, letters = [] }: JourneyFacts): Finding[] {
  const originals = deliveries.filter(({ copyOf }) => copyOf === undefined);
  const dropped = originals.filter(({ outcome }) => outcome === 'dropped');
  const message = trace?.message ?? null;
  const entries = trace?.entries ?? [];
  const received = originals.filter(({ event }) => event === 'message.received');
  const isLost = received.length > 0 && received.every(({ outcome }) => outcome === 'dropped');
  const found: Finding[] = [];
  const say = (tone: Tone, text: string): void => void found.push({ tone, text });

  if (message === null) {
    if (isLost)
      say(
        'bad',
        'Its webhook was dropped, and the connector does not know it yet. The next poll repairs that.',
      );
    else if (stored !== undefined) say('plain', 'The connector does not know it yet.');
  } else if (message.firstSeenBy === 'webhook') say('good', 'A webhook reported it first.');
  else if (message.firstSeenBy === 'send') say('good', 'The response to its send reported it first.');
  else if (isLost) say('warn', 'Its webhook was dropped. Polling repaired it.');
  else if (received.some(({ outcome }) => outcome === 'delivered'))
    say('plain', 'A poll reported it before its webhook.');
  else say('warn', 'Polling found it: its webhook was late, lost or never sent.');

  for (const { source, changed, status } of entries) {
    if (source === 'poll' && changed.includes('status') && !changed.includes('created'))
      say('warn', `Polling repaired the status ${status}.`);
  }
  const reached = RANK[message?.status ?? ''] ?? 0;
  for (const status of new Set(dropped.map((delivery) => readEvent(delivery).status))) {
    if (status !== undefined && message !== null && (RANK[status] ?? 0) > reached)
      say('bad', `The webhook of the status ${status} was dropped. The next poll repairs that.`);
  }
  const copies = entries.filter(({ delivery }) => (delivery?.duplicate ?? 1) > 1).length;
  if (copies > 0) say('plain', `${showCount(copies, 'copy', 'copies')} of its deliveries changed nothing.`);
  if (message?.statusConflict === true)
    say('bad', 'It was reported both read and failed. The first one counts.');
  if (letters.length > 0)
    say('bad', 'The handler of the CRM failed. The change waits among the dead letters in Sync.');
  if (typeof trace?.inbox.note === 'string') say('plain', trace.inbox.note);
  if (trace?.truncated === true) say('plain', 'There are more entries; only the newest are shown.');
  return found;
}

/** Puts the journey of one message together: what happened in which lane, in order, and what it means. */
export function buildJourney(facts: JourneyFacts): Journey {
  const { deliveries = [], calls = [], stored, trace } = facts;
  const letters = (facts.letters ?? []).filter(
    ({ change }) => 'messageId' in change && change.messageId === trace?.messageId,
  );
  // They are listed newest first, and some have the same time.
  const oldestFirst = deliveries
    .toReversed()
    .toSorted((a, b) => Date.parse(a.createdAt) - Date.parse(b.createdAt));
  const seen = new Set<string | undefined>();
  const isFirst = (delivery: Delivery): boolean => {
    const { status } = readEvent(delivery);
    return !seen.has(status) && seen.add(status).size > 0;
  };
  const isLost = deliveries.some(({ outcome }) => outcome === 'dropped');
  const wasSentByCall = calls.some(
    ({ method, status }) => method === 'POST' && status !== null && status < 400,
  );
  const ofService: Step[] =
    deliveries.length === 0 && stored === undefined && trace?.message != null
      ? [
          {
            key: 'created',
            lane: 'service',
            title: 'The service created it',
            tone: 'good',
            real: Date.parse(trace.message.createdAt),
            facts: [['Connection', trace.message.connectionId]],
          },
        ]
      : [];
  const steps = [
    ...ofService,
    ...(stored === undefined ? [] : stepsOfStored(stored, wasSentByCall)),
    ...calls.map(stepOfCall),
    ...oldestFirst.flatMap((delivery) => stepsOfDelivery(delivery, isFirst(delivery))),
    ...(trace?.entries ?? []).flatMap(stepsOfEntry).map((step) => (isLost ? markRepair(step) : step)),
    ...letters.map(stepOfLetter),
  ];
  const realOf = realTimes(steps);
  return {
    // A stable order: what happened at the same time stays as listed above, from the phone to the CRM.
    steps: steps.toSorted((a, b) => realOf(a) - realOf(b)),
    findings: findingsOf({ ...facts, letters }),
    isShifted: steps.some(
      ({ virtual, real }) =>
        virtual !== undefined && real !== undefined && Math.abs(virtual - real) >= SHIFT_MS,
    ),
  };
}
