import { describe, expect, it } from 'vitest';
import type { DeadLetter } from '../../../src/contract/connector/changes.ts';
import type { MessageTrace, TraceEntry } from '../../../src/contract/connector/trace.ts';
import type { ApiCall } from '../../../src/contract/sandbox/calls.ts';
import type { Delivery } from '../../../src/contract/sandbox/deliveries.ts';
import type { StoredMessage } from '../../../src/contract/sandbox/messages.ts';
import { buildJourney, type JourneyFacts, type Step } from '../src/screens/journey/journey.ts';

const HOUR_MS = 3_600_000;
const at = (seconds: string): string => `2026-01-15T12:00:${seconds}Z`;
const epoch = (seconds: string): number => Date.parse(at(seconds));

const STORED: StoredMessage = {
  id: 'm1',
  workspaceId: 'w1',
  connectionId: 'c1',
  direction: 'incoming',
  peer: '447700900201',
  text: 'Hello',
  mediaType: null,
  filename: null,
  status: 'delivered',
  errorMessage: null,
  waMessageId: 'wa1',
  createdAt: at('00.000'),
};

const DROPPED = { ms: 0, error: 'dropped', faults: ['lost'] };

const RECEIVED: Delivery = {
  id: 'd1',
  event: 'message.received',
  workspaceId: 'w1',
  connectionId: 'c1',
  messageId: 'm1',
  subscription: { kind: 'workspace', id: 'w1' },
  url: 'https://connector.example.com/webhooks/messaging',
  outcome: 'delivered',
  createdAt: at('00.010'),
  headers: {},
  body: JSON.stringify({ event: 'message.received', message: { id: 'm1', timestamp: epoch('00.000') } }),
  attempts: [{ at: at('00.010'), ms: 20, status: 200 }],
};

const LOST: Delivery = {
  ...RECEIVED,
  outcome: 'dropped',
  attempts: [
    { at: at('00.010'), ...DROPPED },
    { at: at('00.510'), ...DROPPED },
    { at: at('01.510'), ...DROPPED },
  ],
};

function statusDelivery(status: string, seconds: string, changed: Partial<Delivery> = {}): Delivery {
  const message = { id: 'm1', status, timestamp: epoch(seconds) };
  return {
    ...RECEIVED,
    id: status,
    event: 'message.status',
    createdAt: at(seconds),
    body: JSON.stringify({ event: 'message.status', message }),
    ...changed,
  };
}

const NOTHING: TraceEntry = {
  at: at('00.040'),
  source: 'webhook',
  connectionId: 'c1',
  event: null,
  status: null,
  outcome: 'merged',
  changed: [],
  reason: null,
  explanation: '',
  seqs: [],
  walk: null,
  delivery: null,
  send: null,
};

const BY_WEBHOOK: TraceEntry = {
  ...NOTHING,
  event: 'message.received',
  changed: ['created'],
  explanation: 'Made the message known.',
  seqs: [7],
  delivery: {
    subscriptionId: 'default',
    accountId: 'default',
    signedAt: at('00.010'),
    skewMs: 30,
    secretVersion: 1,
    duplicate: 1,
  },
};

const BY_POLL: TraceEntry = {
  ...NOTHING,
  at: at('30.000'),
  source: 'poll',
  changed: ['created'],
  explanation: 'A poll made the message known.',
  seqs: [7],
  walk: 'coverage',
};

function traceOf(
  entries: readonly TraceEntry[],
  message: Partial<NonNullable<MessageTrace['message']>> | null = {},
): MessageTrace {
  return {
    messageId: 'm1',
    message:
      message === null
        ? null
        : {
            connectionId: 'c1',
            accountId: 'default',
            direction: 'incoming',
            status: null,
            statusConflict: false,
            firstSeenBy: 'webhook',
            firstSeenAt: at('00.040'),
            createdAt: at('00.000'),
            ...message,
          },
    inbox: { keptSince: null, complete: true, note: null },
    entries: [...entries],
    truncated: false,
  };
}

const CALL: ApiCall = {
  id: '9',
  at: at('00.100'),
  method: 'POST',
  path: '/messages',
  credential: 'k1',
  workspaceId: 'w1',
  messageIds: ['m1'],
  status: 200,
  code: null,
  ms: 38.9,
  trace: [{ check: 'credential', passed: true }],
};

const lines = (facts: JourneyFacts): string[] =>
  buildJourney(facts).steps.map(({ lane, title }) => `${lane}: ${title}`);
const texts = (facts: JourneyFacts): string[] => buildJourney(facts).findings.map(({ text }) => text);
const find = (facts: JourneyFacts, key: string): Step | undefined =>
  buildJourney(facts).steps.find((step) => step.key === key);

describe('the journey of a message', () => {
  it('leads from the phone to the CRM, and states that the webhook was first', () => {
    const facts = { stored: STORED, deliveries: [RECEIVED], calls: [], trace: traceOf([BY_WEBHOOK]) };
    expect(lines(facts)).toEqual([
      'phone: +447700900201 wrote a text',
      'service: The service stored it',
      'attempts: message.received: accepted after 1 attempt',
      'connector: Made the message known',
      'crm: Change 7 for the CRM',
    ]);
    expect(texts(facts)).toEqual(['A webhook reported it first.']);
  });

  it('states that a webhook was dropped and repaired by polling', () => {
    const facts = {
      stored: STORED,
      deliveries: [LOST],
      trace: traceOf([BY_POLL], { firstSeenBy: 'poll' }),
    };
    expect(lines(facts).slice(2)).toEqual([
      'attempts: message.received: dropped after 3 attempts',
      'connector: A poll made the message known',
      'crm: Change 7 for the CRM',
    ]);
    expect(texts(facts)).toEqual(['Its webhook was dropped. Polling repaired it.']);
    expect(find(facts, 'delivery d1')).toMatchObject({
      tone: 'bad',
      facts: [
        ['Attempt 1', 'dropped by the fault lost · 0 ms'],
        ['Attempt 2', 'dropped by the fault lost · 0 ms'],
        ['Attempt 3', 'dropped by the fault lost · 0 ms'],
      ],
      place: { screen: 'deliveries', id: 'd1' },
    });
  });

  it('states that a dropped webhook is not repaired yet', () => {
    expect(texts({ stored: STORED, deliveries: [LOST] })).toEqual([
      'Its webhook was dropped, and the connector does not know it yet. The next poll repairs that.',
    ]);
    const sent = traceOf([], { direction: 'outgoing', status: 'sent', firstSeenBy: 'send' });
    const lost = statusDelivery('read', '05.000', { outcome: 'dropped' });
    expect(texts({ deliveries: [lost], trace: sent })).toEqual([
      'The response to its send reported it first.',
      'The webhook of the status read was dropped. The next poll repairs that.',
    ]);
    const repaired = traceOf([{ ...BY_POLL, changed: ['status'], status: 'read' }], {
      direction: 'outgoing',
      status: 'read',
      firstSeenBy: 'send',
    });
    expect(texts({ deliveries: [lost], trace: repaired })).toEqual([
      'The response to its send reported it first.',
      'Polling repaired the status read.',
    ]);
  });

  it('states when a poll preceded the webhook, and what copies and conflicts changed', () => {
    const copy: TraceEntry = {
      ...BY_WEBHOOK,
      changed: [],
      seqs: [],
      reason: 'already_known',
      explanation: 'Copy 1 of a delivery that told the message before.',
      delivery: BY_WEBHOOK.delivery && { ...BY_WEBHOOK.delivery, duplicate: 2 },
    };
    const trace = traceOf([BY_POLL, copy], { firstSeenBy: 'poll', statusConflict: true });
    expect(texts({ deliveries: [RECEIVED], trace })).toEqual([
      'A poll reported it before its webhook.',
      '1 copy of its deliveries changed nothing.',
      'It was reported both read and failed. The first one counts.',
    ]);
  });

  it('follows a send from the CRM to the phone of the contact, in order', () => {
    const send = { outboundId: 'o1', reference: 'r1', attempts: 0, errorCode: null, idempotencyKey: null };
    const entries: TraceEntry[] = [
      {
        ...NOTHING,
        at: at('00.000'),
        source: 'send',
        outcome: 'queued',
        explanation: 'The CRM queued it.',
        send,
      },
      {
        ...NOTHING,
        at: at('00.090'),
        source: 'send',
        outcome: 'sending',
        explanation: 'Attempt 1 began.',
        send: { ...send, attempts: 1 },
      },
    ];
    const facts: JourneyFacts = {
      stored: { ...STORED, direction: 'outgoing', createdAt: at('00.110') },
      calls: [CALL],
      // Newest first, as the sandbox lists them.
      deliveries: [
        // Advancing virtual time creates both at the same real time.
        statusDelivery('read', '02.000', { createdAt: at('01.000') }),
        statusDelivery('delivered', '01.000'),
      ],
      trace: traceOf(entries, { direction: 'outgoing', status: 'read', firstSeenBy: 'send' }),
    };
    expect(lines(facts)).toEqual([
      'crm: The CRM queued it',
      'connector: Attempt 1 began',
      'service: POST /messages answered 200',
      'phone: The phone received it',
      'attempts: message.status delivered: accepted after 1 attempt',
      'phone: The contact read it',
      'attempts: message.status read: accepted after 1 attempt',
    ]);
    const refused = { calls: [{ ...CALL, status: 404, code: 'not_found' }] };
    expect(find(refused, 'call 9')).toMatchObject({
      tone: 'bad',
      title: 'POST /messages answered 404 not_found',
    });
  });

  it('keeps the order of real time if virtual time was advanced, and shows both', () => {
    const ahead = new Date(epoch('00.000') + HOUR_MS).toISOString();
    const body = JSON.stringify({ message: { id: 'm1', timestamp: epoch('00.000') + HOUR_MS } });
    const facts = {
      stored: { ...STORED, createdAt: ahead },
      deliveries: [{ ...RECEIVED, body }],
      trace: traceOf([BY_WEBHOOK]),
    };
    const { steps, isShifted } = buildJourney(facts);
    expect(isShifted).toBe(true);
    expect(steps.map(({ lane, virtual, real }) => [lane, virtual, real])).toEqual([
      ['phone', epoch('00.000') + HOUR_MS, undefined],
      ['service', epoch('00.000') + HOUR_MS, undefined],
      ['attempts', epoch('00.000') + HOUR_MS, epoch('00.010')],
      ['connector', undefined, epoch('00.040')],
      ['crm', undefined, epoch('00.040')],
    ]);
    expect(buildJourney({ ...facts, stored: STORED, deliveries: [RECEIVED] }).isShifted).toBe(false);
    const later = { ...RECEIVED, createdAt: at('05.000') };
    expect(buildJourney({ ...facts, stored: STORED, deliveries: [later] }).isShifted).toBe(true);
    // What has only virtual time stands behind the event before it, on whichever side of the advance.
    const read = { id: 'm1', status: 'read', timestamp: epoch('20.000') + HOUR_MS };
    const deliveries = [
      statusDelivery('read', '20.000', { body: JSON.stringify({ message: read }) }),
      RECEIVED,
    ];
    const calls = [{ ...CALL, at: new Date(epoch('21.000') + HOUR_MS).toISOString() }];
    expect(lines({ deliveries, calls, trace: traceOf([BY_POLL]) }).slice(-3)).toEqual([
      'service: POST /messages answered 200',
      'connector: A poll made the message known',
      'crm: Change 7 for the CRM',
    ]);
  });

  it('marks a copy that was sent by hand, which is no event of the phone', () => {
    const copy = statusDelivery('read', '02.000', { id: 'd9', copyOf: 'read' });
    expect(lines({ deliveries: [copy] })).toEqual([
      'attempts: Copy of read: message.status read: accepted after 1 attempt',
    ]);
    const broken: Delivery = {
      ...RECEIVED,
      id: 'd10',
      copyOf: 'd1',
      body: 'no JSON',
      outcome: 'pending',
      attempts: [],
    };
    expect(lines({ deliveries: [broken] })).toEqual([
      'attempts: Copy of d1: message.received: under way, 0 attempts',
    ]);
  });

  it('ends at a dead letter of this message, not of another', () => {
    const letter = (messageId: string): DeadLetter => ({
      id: `feed-${messageId}`,
      consumer: 'handler',
      attempts: 12,
      lastError: 'RangeError: no room',
      at: at('40.000'),
      change: {
        seq: 7,
        at: at('00.040'),
        accountId: 'default',
        connectionId: 'c1',
        messageId,
        type: 'message.status',
        data: { status: 'read', previous: null, historic: false },
      },
    });
    const facts = { trace: traceOf([BY_WEBHOOK]), letters: [letter('m2'), letter('m1')] };
    expect(lines(facts)).toEqual([
      'service: The service created it',
      'connector: Made the message known',
      'crm: Change 7 for the CRM',
      'crm: The handler failed with change 7, which was set aside',
    ]);
    expect(texts(facts)).toEqual([
      'A webhook reported it first.',
      'The handler of the CRM failed. The change waits among the dead letters in Sync.',
    ]);
  });

  it('needs only the trace of the connector', () => {
    const facts = { trace: traceOf([BY_POLL], { firstSeenBy: 'poll' }) };
    expect(lines(facts)).toEqual([
      'service: The service created it',
      'connector: A poll made the message known',
      'crm: Change 7 for the CRM',
    ]);
    expect(texts(facts)).toEqual(['Polling found it: its webhook was late, lost or never sent.']);
    expect(buildJourney({})).toEqual({ steps: [], findings: [], isShifted: false });
  });
});
