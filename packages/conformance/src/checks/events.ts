import { type Probe, Skip, Violation } from '../../../certify/src/runner/check.ts';
import {
  acceptedDelivery,
  allDeliveries,
  inspectDelivery,
  readEvent,
  reply,
} from '../fixtures/deliveries.ts';
import { demandMessage } from '../fixtures/messages.ts';
import { messageIdOf, SEND_TIMEOUT_MS } from '../fixtures/sends.ts';
import type { ServiceContext } from '../service/context.ts';
import { expectEqual, isObject } from '../service/judge.ts';
import { inSection, type ServiceCheck } from '../service/service-check.ts';
import { compareShape, demandValue } from '../service/shape.ts';
import { payloads } from '../service/spec-shapes.ts';

const NEEDS = ['full', 'webhook', 'recipient'] as const;
const DELIVERY = { needs: NEEDS, timeoutMs: SEND_TIMEOUT_MS } as const;
const REPLY = { needs: [...NEEDS, 'reply'], timeoutMs: SEND_TIMEOUT_MS } as const;

/** Names of all fields of a payload, at every depth. */
function fieldNames(value: unknown): readonly string[] {
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([name, inner]) => [name, ...fieldNames(inner)]);
}

async function demandPayloads(context: ServiceContext, event: string, probe: Probe): Promise<void> {
  const shape = payloads[event];
  const all = await allDeliveries(context);
  const matching = all.filter((request) => readEvent(request)?.event === event);
  if (shape === undefined || matching.length === 0)
    throw new Skip(`no ${event} was delivered during the run`);
  for (const request of matching) {
    inspectDelivery(context, request);
    demandValue(request.json, shape, probe);
  }
  probe.note(`${matching.length} of them were delivered`);
}

function payloadCheck(event: string, more: Pick<ServiceCheck, 'needs' | 'timeoutMs'>): ServiceCheck {
  return {
    ...more,
    id: `event.${event}`,
    section: event,
    rule: `Every ${event} has the fields of its table, with their types.`,
    level: 'must',
    async run(context, probe) {
      if (event === 'message.received') await reply(context);
      await demandPayloads(context, event, probe);
    },
  };
}

/** The content of events. Implements `Events`. */
export const eventChecks = inSection({ section: 'Events', ...DELIVERY }, [
  payloadCheck('message.status', DELIVERY),
  payloadCheck('message.received', REPLY),
  payloadCheck('connection.disconnected', DELIVERY),
  payloadCheck('connection.connected', DELIVERY),
  {
    id: 'event.names',
    section: 'Versioning',
    rule: 'Payload fields are in snake_case.',
    async run(context) {
      for (const request of await allDeliveries(context)) {
        inspectDelivery(context, request);
        const wrong = fieldNames(request.json).find((name) => !/^[a-z][a-z0-9_]*$/.test(name));
        if (wrong !== undefined) throw new Violation('snake_case', wrong);
      }
    },
  },
  {
    id: 'event.no-further-fields',
    rule: 'Payloads have exactly the fields of their tables.',
    level: 'reading',
    async run(context) {
      for (const request of await allDeliveries(context)) {
        const shape = payloads[readEvent(request)?.event ?? ''];
        if (shape === undefined) continue;
        inspectDelivery(context, request);
        const { extras } = compareShape(request.json, shape);
        if (extras.length > 0) throw new Violation('no further fields', extras.join(', '));
      }
    },
  },
  {
    id: 'event.known',
    rule: 'No other events than the four are sent.',
    level: 'should',
    async run(context) {
      for (const request of await allDeliveries(context)) {
        inspectDelivery(context, request);
        const name = readEvent(request)?.event ?? '';
        if (!Object.hasOwn(payloads, name)) throw new Violation('one of the four events', name);
      }
    },
  },
  {
    id: 'event.own-sends',
    rule: 'Own sends do not fire message.received.',
    async run(context) {
      const { sent } = await acceptedDelivery(context);
      const id = messageIdOf(sent.exchange);
      const events = (await allDeliveries(context)).map(readEvent);
      if (events.some((event) => event?.event === 'message.received' && event.message['id'] === id)) {
        throw new Violation('no message.received', `one for ${id}`);
      }
    },
  },
  {
    ...REPLY,
    id: 'event.received.joins',
    section: 'message.received',
    rule: 'message.id of an incoming message is its id in GET /messages, with the same text and connection.',
    async run(context) {
      const request = await reply(context);
      inspectDelivery(context, request);
      const event = readEvent(request);
      const id = String(event?.message['id']);
      const found = await demandMessage(context, id);
      expectEqual('direction', 'incoming', found.fields['direction']);
      expectEqual('connectionId', event?.connectionId, found.fields['connectionId']);
      if (found.fields['text'] !== event?.message['text'])
        throw new Violation('the same text', 'a different one');
    },
  },
  {
    ...REPLY,
    id: 'receipts.message',
    section: 'Rules per endpoint, 11',
    rule: 'A read receipt by messageId returns 200; if another phone is given as well, messageId takes precedence.',
    async run(context) {
      const request = await reply(context);
      inspectDelivery(context, request);
      const event = readEvent(request);
      const { id } = event?.message ?? {};
      const connectionId = event?.connectionId;
      for (const body of [
        { connectionId, messageId: id },
        { connectionId, messageId: id, phone: '10000000000' },
      ]) {
        const exchange = await context.api.request('POST', '/messages/read', { body });
        if (exchange.status !== 200) throw new Violation('status 200', `${exchange.status}`, exchange);
      }
    },
  },
]);
