import type { ConnectorMessage } from '../contract/connector/messages.ts';
import type { TraceEntry } from '../contract/connector/trace.ts';
import { MESSAGE_STATUS_RANKS, type MessageStatus } from '../contract/service/statuses.ts';
import type { Redactor } from './redact.ts';
import type { Cause, Definition, Scenario } from './scenario.ts';

/** What a connector has of one message. */
export interface Captured {
  readonly message: Pick<ConnectorMessage, 'direction' | 'peer' | 'text'>;
  /** Oldest first. */
  readonly entries: readonly Pick<TraceEntry, 'at' | 'source' | 'event' | 'status' | 'outcome'>[];
}

const START = '2000-01-01T00:00:00.000Z';
/** Replaces the connection: one that every sandbox begins with. */
const CONNECTION = { phoneNumber: '447700900101', nth: 1 } as const;
const NO_TEXT = 'A file.';
const NO_PEER = '15550100199';
const CONTACT_NAME = '$message1';
const DELIVERY_NAME = '$delivery1';
/** Of the first delivery, all others are copies. */
const RULE = 'captured';

/**
 * Makes a scenario of what a connector has of one message. In the sandbox, the message is written or sent anew, and its
 * own webhooks are dropped. The deliveries that the connector received are repeated as copies, in their order, and
 * signed anew. Each status that is higher than the one before is also one of the service, so that polls find it.
 * It contains nothing of the message but its direction, its statuses and times; text and phone number are redacted.
 */
export function buildCapture({ message, entries }: Captured, redactor: Redactor): Scenario {
  const began = Date.parse(entries[0]?.at ?? START);
  const peer = message.peer === null ? NO_PEER : redactor.phone(message.peer);
  const text = message.text === null || message.text === '' ? NO_TEXT : redactor.text(message.text);
  const causes: Cause[] = [];
  const add = (at: number, cause: Pick<Cause, 'surface' | 'method' | 'path' | 'body'>): number => {
    causes.push({ cause: causes.length + 1, at: Math.max(0, at - began), ...cause });
    return causes.length;
  };
  const sandbox = (at: number, method: string, path: string, body?: object): number =>
    add(at, { surface: 'sandbox', method, path, ...(body === undefined ? {} : { body }) });
  /** Drops the next webhook of the service's own. */
  const dropNext = (at: number): number =>
    sandbox(at, 'POST', '/faults', {
      id: RULE,
      match: { surface: 'webhook' },
      action: { type: 'drop' },
      per: 'event',
      first: 1,
    });

  const isIncoming = message.direction === 'incoming';
  let definition: Definition;
  dropNext(began);
  if (isIncoming) {
    const wrote = sandbox(began, 'POST', `/contacts/${peer}/messages`, {
      connectionId: '$connection1',
      text,
    });
    definition = { cause: wrote, at: ['messageId'] };
  } else {
    // What the phone does is in the trace.
    sandbox(began, 'PUT', `/contacts/${peer}`, { deliverAfterMs: null, readAfterMs: null });
    const body = { connectionId: '$connection1', to: peer, text, reference: RULE };
    add(began, { surface: 'connector', method: 'POST', path: '/v1/messages', body });
    definition = { message: 'outgoing', connection: '$connection1', peer, nth: 1 };
  }

  const copy = (at: number, event: object): number =>
    sandbox(at, 'POST', `/deliveries/${DELIVERY_NAME}/copies`, { body: JSON.stringify(event) });
  let reached: MessageStatus = 'sent';
  for (const { at: iso, source, event, status, outcome } of entries) {
    const at = Date.parse(iso);
    if (!isIncoming && status !== null && isHigher(status, reached)) {
      dropNext(at);
      sandbox(at, 'POST', `/messages/${CONTACT_NAME}/status`, { status });
      reached = status;
    }
    const known = {
      connection_id: '$connection1',
      message: { id: CONTACT_NAME, wa_id: null, timestamp: at - began },
    };
    if (source === 'poll') add(at, { surface: 'connector', method: 'POST', path: '/v1/sync', body: {} });
    if (source !== 'webhook' || outcome === 'invalid' || outcome === 'unmergeable') continue;
    if (event === 'message.received') {
      const content = { from: peer, text, media_url: null, media_type: null };
      copy(at, { event, ...known, message: { ...known.message, ...content } });
    } else if (event === 'message.status') {
      copy(at, { event, ...known, message: { ...known.message, status } });
    }
  }

  const last = Date.parse(entries.at(-1)?.at ?? START);
  return {
    scenario: 1,
    startedAt: START,
    endedAt: new Date(Date.parse(START) + last - began).toISOString(),
    frozen: false,
    sendScale: 0,
    connector: true,
    complete: true,
    names: {
      $connection1: CONNECTION,
      [CONTACT_NAME]: definition,
      [DELIVERY_NAME]: {
        delivery: isIncoming ? 'message.received' : 'message.status',
        connection: '$connection1',
        message: CONTACT_NAME,
        status: isIncoming ? null : 'sent',
        nth: 1,
      },
    },
    causes,
    observations: [],
  };
}

function isHigher(status: MessageStatus, before: MessageStatus): boolean {
  if (before === 'failed' || before === 'read') return false;
  return status === 'failed' || MESSAGE_STATUS_RANKS[status] > MESSAGE_STATUS_RANKS[before];
}
