import { signDelivery } from '../../../certify/src/receiver/profile.ts';
import { Skip, Violation } from '../../../certify/src/runner/check.ts';
import {
  acceptedDelivery,
  allDeliveries,
  inspectDelivery,
  readEvent,
  refusedDelivery,
  rotatedDelivery,
  unansweredDelivery,
} from '../fixtures/deliveries.ts';
import { messageIdOf, SEND_TIMEOUT_MS } from '../fixtures/sends.ts';
import { expectEqual } from '../service/judge.ts';
import { inSection } from '../service/service-check.ts';
import type { WebhookRequest } from '../service/webhook-listener.ts';

const SECTION = 'Delivery and signature';
const NEEDS = ['full', 'webhook', 'recipient'] as const;
const DELIVERY = { needs: NEEDS, timeoutMs: SEND_TIMEOUT_MS } as const;
const FRESH_MS = 5 * 60_000;

const one = (request: WebhookRequest, name: string): string =>
  request.headers[name]?.length === 1 ? (request.headers[name][0] ?? '') : '';

const TIMESTAMP = 'x-service-timestamp';
const SIGNATURE = 'x-service-signature';

function isSignedWith(request: WebhookRequest, secret: string): boolean {
  const expected = Buffer.from(signDelivery(secret, one(request, TIMESTAMP), request.body));
  return expected.equals(Buffer.from(one(request, SIGNATURE)));
}

/** How an event is delivered. Implements `Delivery and signature`. */
export const deliveryChecks = inSection({ section: SECTION, ...DELIVERY }, [
  {
    id: 'delivery.arrives',
    section: 'Events',
    rule: 'A send from a qr connection is followed by message.status at the webhook.',
    async run(context, probe) {
      const { request } = await acceptedDelivery(context);
      probe.note(`first status reported: ${String(readEvent(request)?.message['status'])}`);
    },
  },
  {
    id: 'delivery.method',
    section: 'Events',
    rule: 'Events are POST requests with a JSON body, to the path and query that were set.',
    async run(context) {
      const { pathname, search } = new URL(context.inputs.webhookUrl ?? '');
      for (const request of await allDeliveries(context)) {
        inspectDelivery(context, request);
        expectEqual('method', 'POST', request.method);
        expectEqual('path', `${pathname}${search}`, request.path);
        const type = one(request, 'content-type');
        if (!/^application\/json\b/i.test(type)) throw new Violation('application/json', type || 'no type');
      }
    },
  },
  {
    id: 'delivery.headers',
    rule: 'Each delivery has one X-Service-Timestamp in epoch ms, and one X-Service-Signature of 64 hex digits.',
    async run(context) {
      for (const request of await allDeliveries(context)) {
        inspectDelivery(context, request);
        const [timestamp, given] = [one(request, TIMESTAMP), one(request, SIGNATURE)];
        if (!/^\d{13}$/.test(timestamp)) throw new Violation('13 digits', timestamp || 'not one such header');
        if (!/^sha256=[0-9a-f]{64}$/i.test(given)) {
          throw new Violation('sha256= and 64 hex digits', given || 'not one such header');
        }
      }
    },
  },
  {
    id: 'delivery.signature',
    rule: 'The signature is the HMAC-SHA256 of timestamp, dot and raw body, keyed with the secret.',
    async run(context) {
      const { request, secret } = await acceptedDelivery(context);
      inspectDelivery(context, request);
      if (!isSignedWith(request, secret)) throw new Violation('a matching signature', 'a different one');
    },
  },
  {
    id: 'delivery.fresh',
    rule: "The timestamp differs from the receiver's clock by less than 5 minutes.",
    async run(context) {
      for (const request of await allDeliveries(context)) {
        inspectDelivery(context, request);
        const off = Number(one(request, TIMESTAMP)) - request.receivedAt;
        if (!(Math.abs(off) < FRESH_MS)) throw new Violation('less than 5 minutes', `${off} ms`);
      }
    },
  },
  {
    id: 'delivery.id',
    section: 'message.status',
    rule: 'message.id is the messageId of the send, and connection_id its connection.',
    async run(context) {
      const { sent, request } = await acceptedDelivery(context);
      inspectDelivery(context, request);
      const event = readEvent(request);
      expectEqual('message.id', messageIdOf(sent.exchange), event?.message['id']);
      expectEqual('connection_id', sent.connectionId, event?.connectionId);
    },
  },
  {
    id: 'delivery.three-attempts',
    rule: 'An event is attempted 3 times if every attempt fails, and then dropped.',
    async run(context) {
      const { attempts } = await refusedDelivery(context);
      for (const attempt of attempts) inspectDelivery(context, attempt);
      expectEqual('attempts', 3, attempts.length);
    },
  },
  {
    id: 'delivery.redirect',
    rule: 'A redirect is a failure: it is not followed, and the event is retried.',
    async run(context) {
      const { attempts, followed } = await refusedDelivery(context);
      for (const request of [...attempts, ...followed]) inspectDelivery(context, request);
      if (followed.length > 0) throw new Violation('no request to the new address', `${followed.length}`);
      const again = attempts[attempts.findIndex(({ status }) => status === 302) + 1];
      if (again === undefined) throw new Violation('a second attempt', 'none');
    },
  },
  {
    id: 'delivery.identical',
    rule: 'All attempts of an event have the same body, timestamp and signature, to the byte.',
    async run(context) {
      const [first, ...retries] = (await refusedDelivery(context)).attempts;
      if (first === undefined || retries.length === 0) throw new Skip('there was no second attempt');
      for (const retry of retries) {
        inspectDelivery(context, retry);
        if (!retry.body.equals(first.body)) throw new Violation('the same body', 'a different one');
        for (const name of [TIMESTAMP, SIGNATURE]) expectEqual(name, one(first, name), one(retry, name));
      }
    },
  },
  {
    id: 'delivery.delays',
    rule: 'The second attempt follows after about 500 ms, the third after about 1 s.',
    async run(context, probe) {
      const { attempts } = await refusedDelivery(context);
      for (const attempt of attempts) inspectDelivery(context, attempt);
      if (attempts.length < 3) throw new Skip('there were fewer than three attempts');
      const gaps = attempts.slice(1).map(({ at }, index) => at - Number(attempts[index]?.answeredAt));
      probe.note(`waited ${gaps.map((gap) => Math.round(gap)).join(' and ')} ms`);
      for (const [index, wanted] of [500, 1_000].entries()) {
        const gap = Number(gaps[index]);
        // Both may count from the first attempt, and networks and machines cause delays; a wait of another order of
        // magnitude is not an accident.
        if (!(gap >= wanted / 4 && gap <= wanted + 10_000)) {
          throw new Violation(`about ${wanted} ms before attempt ${index + 2}`, `${Math.round(gap)} ms`);
        }
      }
    },
  },
  {
    needs: [...NEEDS, 'patience'],
    id: 'delivery.timeout',
    rule: 'An attempt without a response for 10 s is a failure, and the next one follows.',
    async run(context, probe) {
      const attempts = await unansweredDelivery(context);
      for (const attempt of attempts) inspectDelivery(context, attempt);
      const [first, second] = attempts;
      if (first === undefined || second === undefined) throw new Violation('a second attempt', 'none');
      const seconds = (second.at - first.at) / 1000;
      probe.note(`waited ${seconds.toFixed(1)} s`);
      // A busy machine records an attempt late; a timeout of another order of magnitude is not an accident.
      if (seconds < 5 || seconds > 30) {
        throw new Violation('a second attempt after about 10.5 s', `after ${seconds.toFixed(1)} s`);
      }
    },
  },
  {
    id: 'delivery.success',
    rule: 'Any 2xx is a success: the event is not delivered again.',
    level: 'should',
    async run(context) {
      await refusedDelivery(context);
      const taken = (await allDeliveries(context)).filter(({ status }) => status >= 200 && status < 300);
      const seen = new Set<string>();
      for (const request of taken) {
        inspectDelivery(context, request);
        const event = `${one(request, TIMESTAMP)}.${request.body.toString('base64')}`;
        if (seen.has(event)) throw new Violation('one delivery', `another after ${request.status}`);
        seen.add(event);
      }
    },
  },
  {
    id: 'delivery.rotated',
    section: 'Rules per endpoint, 12 to 14',
    rule: 'After a rotation events are signed with the new secret at once, and never with the old one.',
    async run(context) {
      const { request, secret, oldSecret } = await rotatedDelivery(context);
      inspectDelivery(context, request);
      if (isSignedWith(request, oldSecret)) throw new Violation('the new secret', 'the old one');
      if (!isSignedWith(request, secret)) throw new Violation('the new secret', 'neither of the two');
    },
  },
]);
