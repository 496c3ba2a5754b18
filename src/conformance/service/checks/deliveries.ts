import { Skip, Violation } from '../../runner/check.ts';
import type { ServiceContext } from '../context.ts';
import {
  acceptedDelivery,
  readEvent,
  refusedDelivery,
  reply,
  rotatedDelivery,
} from '../fixtures/deliveries.ts';
import { findMessage } from '../fixtures/messages.ts';
import { messageIdOf, SEND_TIMEOUT_MS } from '../fixtures/sends.ts';
import type { ServiceCheck } from '../inputs.ts';
import { expectEqual } from '../judge.ts';
import { demandValue, isObject } from '../shape.ts';
import { signDelivery } from '../signature.ts';
import { payloads } from '../spec-shapes.ts';
import type { WebhookRequest } from '../webhook-listener.ts';

const SECTION = 'Delivery and signature';
const NEEDS = ['full', 'webhook', 'recipient'] as const;
const DELIVERY = { needs: NEEDS, timeoutMs: SEND_TIMEOUT_MS } as const;
const REPLY = { needs: [...NEEDS, 'reply'], timeoutMs: SEND_TIMEOUT_MS } as const;
const FRESH_MS = 5 * 60_000;

const one = (request: WebhookRequest, name: string): string =>
  request.headers[name]?.length === 1 ? (request.headers[name][0] ?? '') : '';

const TIMESTAMP = 'x-service-timestamp';
const SIGNATURE = 'x-service-signature';

function isSignedWith(request: WebhookRequest, secret: string): boolean {
  const expected = Buffer.from(signDelivery(secret, one(request, TIMESTAMP), request.body));
  return expected.equals(Buffer.from(one(request, SIGNATURE)));
}

/** Everything that came in on the webhook's own path. @throws Skip when nothing did */
async function allDeliveries(context: ServiceContext): Promise<readonly WebhookRequest[]> {
  await acceptedDelivery(context);
  return context.listener().requests.filter((request) => readEvent(request) !== undefined);
}

/** Names of all fields of a payload, however deep. */
function fieldNames(value: unknown): readonly string[] {
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([name, inner]) => [name, ...fieldNames(inner)]);
}

function demandPayloads(requests: readonly WebhookRequest[], event: string, note: (text: string) => void) {
  const shape = payloads[event];
  const told = requests.filter((request) => readEvent(request)?.event === event);
  if (shape === undefined || told.length === 0) throw new Skip(`no ${event} came in during the run`);
  const probe = { note, signal: new AbortController().signal, extend: () => undefined, see: () => undefined };
  for (const { json } of told) demandValue(json, shape, probe);
  note(`${told.length} of them came in`);
}

function payloadCheck(event: string, more: Pick<ServiceCheck, 'needs' | 'timeoutMs'>): ServiceCheck {
  return {
    ...more,
    id: `event.${event}`,
    section: event,
    rule: `Every ${event} has the fields of its table, in their types.`,
    level: 'must',
    async run(context, probe) {
      if (event === 'message.received') await reply(context);
      demandPayloads(await allDeliveries(context), event, probe.note);
    },
  };
}

/** How an event arrives. Implements `Delivery and signature`. */
export const deliveryChecks: readonly ServiceCheck[] = [
  {
    ...DELIVERY,
    id: 'delivery.arrives',
    section: 'Events',
    rule: 'A send from a qr connection is followed by message.status at the webhook.',
    level: 'must',
    async run(context, probe) {
      const { request } = await acceptedDelivery(context);
      probe.note(`first told of: ${String(readEvent(request)?.message['status'])}`);
    },
  },
  {
    ...DELIVERY,
    id: 'delivery.method',
    section: 'Events',
    rule: 'Events come as POST with a JSON body, to the path and query that were set.',
    level: 'must',
    async run(context) {
      const { pathname, search } = new URL(context.inputs.webhookUrl ?? '');
      for (const request of await allDeliveries(context)) {
        expectEqual('method', 'POST', request.method);
        expectEqual('path', `${pathname}${search}`, request.path);
        const type = one(request, 'content-type');
        if (!/^application\/json\b/i.test(type)) throw new Violation('application/json', type || 'no type');
      }
    },
  },
  {
    ...DELIVERY,
    id: 'delivery.headers',
    section: SECTION,
    rule: 'Each delivery has one X-Service-Timestamp in epoch ms, and one X-Service-Signature of 64 hex digits.',
    level: 'must',
    async run(context) {
      for (const request of await allDeliveries(context)) {
        const [timestamp, given] = [one(request, TIMESTAMP), one(request, SIGNATURE)];
        if (!/^\d{13}$/.test(timestamp)) throw new Violation('13 digits', timestamp || 'not one such header');
        if (!/^sha256=[0-9a-f]{64}$/i.test(given)) {
          throw new Violation('sha256= and 64 hex digits', given || 'not one such header');
        }
      }
    },
  },
  {
    ...DELIVERY,
    id: 'delivery.signature',
    section: SECTION,
    rule: 'The signature is the HMAC-SHA256 of timestamp, dot and raw body, keyed with the secret.',
    level: 'must',
    async run(context) {
      const { request, secret } = await acceptedDelivery(context);
      if (!isSignedWith(request, secret)) throw new Violation('a signature that fits', 'another one');
    },
  },
  {
    ...DELIVERY,
    id: 'delivery.fresh',
    section: SECTION,
    rule: 'The timestamp is less than 5 minutes from the clock of the receiver.',
    level: 'must',
    async run(context) {
      for (const request of await allDeliveries(context)) {
        const off = Number(one(request, TIMESTAMP)) - request.receivedAt;
        if (!(Math.abs(off) < FRESH_MS)) throw new Violation('less than 5 minutes', `${off} ms`);
      }
    },
  },
  {
    ...DELIVERY,
    id: 'delivery.id',
    section: 'message.status',
    rule: 'message.id is the messageId of the send, and connection_id its connection.',
    level: 'must',
    async run(context) {
      const { sent, request } = await acceptedDelivery(context);
      const told = readEvent(request);
      expectEqual('message.id', messageIdOf(sent.exchange), told?.message['id']);
      expectEqual('connection_id', sent.connectionId, told?.connectionId);
    },
  },
  {
    ...DELIVERY,
    id: 'delivery.three-attempts',
    section: SECTION,
    rule: 'An event whose attempts all fail is tried 3 times, and then dropped.',
    level: 'must',
    async run(context) {
      const { attempts } = await refusedDelivery(context);
      expectEqual('attempts', 3, attempts.length);
    },
  },
  {
    ...DELIVERY,
    id: 'delivery.redirect',
    section: SECTION,
    rule: 'A redirect is a failure: it is not followed, and the event is tried again.',
    level: 'must',
    async run(context) {
      const { attempts, followed } = await refusedDelivery(context);
      if (followed.length > 0) throw new Violation('no request to the new address', `${followed.length}`);
      const again = attempts[attempts.findIndex(({ status }) => status === 302) + 1];
      if (again === undefined) throw new Violation('a second attempt', 'none');
    },
  },
  {
    ...DELIVERY,
    id: 'delivery.identical',
    section: SECTION,
    rule: 'All attempts of an event have the same body, timestamp and signature, to the byte.',
    level: 'must',
    async run(context) {
      const [first, ...retries] = (await refusedDelivery(context)).attempts;
      if (first === undefined || retries.length === 0) throw new Skip('there was no second attempt');
      for (const retry of retries) {
        if (!retry.body.equals(first.body)) throw new Violation('the same body', 'another one');
        for (const name of [TIMESTAMP, SIGNATURE]) expectEqual(name, one(first, name), one(retry, name));
      }
    },
  },
  {
    ...DELIVERY,
    id: 'delivery.delays',
    section: SECTION,
    rule: 'The second attempt follows after about 500 ms, the third after about 1 s.',
    level: 'must',
    async run(context, probe) {
      const { attempts } = await refusedDelivery(context);
      if (attempts.length < 3) throw new Skip('there were fewer than three attempts');
      const gaps = attempts.slice(1).map(({ at }, index) => at - Number(attempts[index]?.answeredAt));
      probe.note(`waited ${gaps.map((gap) => Math.round(gap)).join(' and ')} ms`);
      for (const [index, wanted] of [500, 1_000].entries()) {
        const gap = Number(gaps[index]);
        // Networks and machines delay; a wait that is too short, or of another order, is no accident.
        if (!(gap >= wanted / 2 && gap <= wanted + 10_000)) {
          throw new Violation(`about ${wanted} ms before attempt ${index + 2}`, `${Math.round(gap)} ms`);
        }
      }
    },
  },
  {
    ...DELIVERY,
    id: 'delivery.success',
    section: SECTION,
    rule: 'Any 2xx is a success: an event that was answered so does not come again.',
    level: 'should',
    async run(context) {
      await refusedDelivery(context);
      const taken = (await allDeliveries(context)).filter(({ status }) => status < 300);
      const seen = new Set<string>();
      for (const request of taken) {
        const event = `${one(request, TIMESTAMP)}.${request.body.toString('base64')}`;
        if (seen.has(event)) throw new Violation('one delivery', `another after ${request.status}`);
        seen.add(event);
      }
    },
  },
  {
    ...DELIVERY,
    id: 'delivery.rotated',
    section: 'Rules per endpoint, 12 to 14',
    rule: 'After a rotation events are signed with the new secret at once, and never with the old one.',
    level: 'must',
    async run(context) {
      const { request, secret, oldSecret } = await rotatedDelivery(context);
      if (isSignedWith(request, oldSecret)) throw new Violation('the new secret', 'the old one');
      if (!isSignedWith(request, secret)) throw new Violation('the new secret', 'neither of both');
    },
  },
  payloadCheck('message.status', DELIVERY),
  payloadCheck('message.received', REPLY),
  payloadCheck('connection.disconnected', DELIVERY),
  payloadCheck('connection.connected', DELIVERY),
  {
    ...DELIVERY,
    id: 'event.names',
    section: 'Versioning',
    rule: 'Fields of payloads are in snake_case.',
    level: 'must',
    async run(context) {
      for (const { json } of await allDeliveries(context)) {
        const wrong = fieldNames(json).find((name) => !/^[a-z][a-z0-9_]*$/.test(name));
        if (wrong !== undefined) throw new Violation('snake_case', wrong);
      }
    },
  },
  {
    ...DELIVERY,
    id: 'event.no-further-fields',
    section: 'Events',
    rule: 'Payloads have exactly the fields of their tables.',
    level: 'reading',
    async run(context) {
      for (const event of Object.keys(payloads)) {
        const found: string[] = [];
        const told = (text: string): void => void (text.startsWith('further') && found.push(text));
        try {
          demandPayloads(await allDeliveries(context), event, told);
        } catch (error) {
          if (!(error instanceof Skip)) throw error;
        }
        if (found.length > 0) throw new Violation('no further fields', `${event}: ${found.join('; ')}`);
      }
    },
  },
  {
    ...DELIVERY,
    id: 'event.known',
    section: 'Events',
    rule: 'No other events than the four are sent.',
    level: 'should',
    async run(context) {
      const names = (await allDeliveries(context)).map((request) => readEvent(request)?.event ?? '');
      const other = names.find((name) => !Object.hasOwn(payloads, name));
      if (other !== undefined) throw new Violation('one of the four events', other);
    },
  },
  {
    ...DELIVERY,
    id: 'event.own-sends',
    section: 'Events',
    rule: 'Own sends do not fire message.received.',
    level: 'must',
    async run(context) {
      const { sent } = await acceptedDelivery(context);
      const id = messageIdOf(sent.exchange);
      const told = (await allDeliveries(context)).map(readEvent);
      if (told.some((event) => event?.event === 'message.received' && event.message['id'] === id)) {
        throw new Violation('no message.received', `one for ${id}`);
      }
    },
  },
  {
    ...REPLY,
    id: 'event.received.joins',
    section: 'message.received',
    rule: 'message.id of an incoming message is its id in GET /messages, with the same text and connection.',
    level: 'must',
    async run(context) {
      const told = readEvent(await reply(context));
      const id = String(told?.message['id']);
      const found = await findMessage(context, id);
      if (found === undefined) throw new Violation(`a message ${id}`, 'none among the newest 100');
      expectEqual('direction', 'incoming', found.fields['direction']);
      expectEqual('connectionId', told?.connectionId, found.fields['connectionId']);
      if (found.fields['text'] !== told?.message['text']) throw new Violation('the same text', 'another one');
    },
  },
  {
    ...REPLY,
    id: 'receipts.message',
    section: 'Rules per endpoint, 11',
    rule: 'A read receipt by messageId answers 200; given with another phone, messageId wins.',
    level: 'must',
    async run(context) {
      const told = readEvent(await reply(context));
      const { id } = told?.message ?? {};
      const connectionId = told?.connectionId;
      for (const body of [
        { connectionId, messageId: id },
        { connectionId, messageId: id, phone: '10000000000' },
      ]) {
        const exchange = await context.api.request('POST', '/messages/read', { body });
        if (exchange.status !== 200) throw new Violation('status 200', `${exchange.status}`, exchange);
      }
    },
  },
];
