import { Agent } from 'node:http';
import { Violation } from '../../runner/check.ts';
import type { Exchange } from '../../runner/exchange.ts';
import { isLimited, isSuccess } from '../context.ts';
import { newId } from '../events.ts';
import { LIMITED } from '../find-cause.ts';
import { accepted, onWire } from '../receiver-check.ts';

const SECTION = 'Delivery and signature';
const AT_ONCE = 50;
const DEADLINE_MS = 10_000;
const MEGABYTE = 1024 * 1024;

export const deliveryChecks = onWire(SECTION, [
  accepted(
    'delivery.repeated',
    'The same delivery three times is answered with a 2xx each time.',
    'A copy that you have already is a success, not a conflict: insert with ON CONFLICT DO NOTHING, and answer 2xx.',
    ({ events, clock }) => {
      const copies = { body: events.received(), at: clock.now() };
      return ['first', 'second', 'third'].map((copy) => ({ ...copies, as: `${copy} copy of a delivery` }));
    },
  ),
  accepted(
    'delivery.out-of-order',
    'Statuses that arrive in the wrong order are answered with a 2xx.',
    'The order is not guaranteed. A status that is too late changes nothing, and one that arrives before its message is kept: both are a success. src/patterns/message-status.ts shows it.',
    ({ events }) => {
      const id = newId();
      return ['read', 'sent', 'delivered'].map((status) => ({ body: events.status(id, status) }));
    },
  ),
  {
    id: 'delivery.at-once',
    rule: `${AT_ONCE} deliveries at once are answered with a 2xx, each within 10 s.`,
    hint: 'Store the bytes and answer. Do the rest later, in a worker: the service waits 10 s for each attempt.',
    needs: ['loopback'],
    timeoutMs: 3 * DEADLINE_MS,
    async run({ accepts, attempt, events }) {
      const deliverAll = async (): Promise<readonly Exchange[]> => {
        const made = Array.from({ length: AT_ONCE }, () => attempt({ body: events.received() }));
        return (await Promise.all(made)).filter((exchange) => !isSuccess(exchange));
      };
      let failed = await deliverAll();
      if (failed.some(isLimited)) {
        // Deliveries that were made before may count towards a limit.
        await accepts({ body: events.received() });
        failed = await deliverAll();
      }
      const [first] = failed;
      if (first === undefined) return;
      throw new Violation(
        `${AT_ONCE} times a 2xx`,
        `${failed.length} times another answer, such as ${first.status}`,
        first,
        isLimited(first) ? LIMITED : undefined,
      );
    },
  },
  accepted(
    'header.charset',
    'A content type with a charset is accepted.',
    'Do not compare the content type as a text: application/json may have parameters. Read the raw body whatever the type is.',
    () => [{ contentType: 'application/json; charset=utf-8' }],
  ),
  accepted(
    'body.in-two-parts',
    'A body that arrives in two parts is read to its end.',
    'Read until the request has ended, and concatenate bytes, not decoded texts: a character may be cut in two.',
    ({ events }) => [
      {
        body: events.received({ text: '你好'.repeat(200) }),
        ...{ pauseMs: 200, as: 'delivery with a pause of 200 ms in its body' },
      },
    ],
  ),
  {
    id: 'body.none',
    level: 'should',
    rule: 'A signed request without a body is answered.',
    hint: 'An empty body is not an error of your server: refuse it with a 4xx, or accept it. It must not end in a 5xx.',
    run: async ({ attempt }) => answered(await attempt({ body: '', as: 'signed request without a body' })),
  },
  {
    id: 'body.not-json',
    level: 'should',
    rule: 'A signed body that is not JSON is answered.',
    hint: 'Parse after the signature was verified, and catch what the parser throws. It must not end in a 5xx, which the service retries.',
    run: async ({ attempt }) =>
      answered(await attempt({ body: '{"event":', as: 'signed delivery that is not JSON' })),
  },
  {
    id: 'body.large',
    section: 'Limits',
    level: 'should',
    rule: 'A body of 2 MB is accepted or refused, but not with a 5xx.',
    hint: 'Limit what you read, and answer 413 beyond the limit. Without a limit, anyone can fill your memory.',
    needs: ['loopback'],
    async run({ attempt, events }) {
      const body = JSON.stringify({ ...events.received(), padding: 'x'.repeat(2 * MEGABYTE) });
      const exchange = await attempt({ body, as: 'signed delivery of 2 MB' }).catch((error: unknown) => {
        // A receiver may close the connection in the middle of a body that it does not want.
        if (error instanceof Violation && /EPIPE|ECONNRESET/.test(error.actual)) return undefined;
        throw error;
      });
      if (exchange !== undefined) answered(exchange);
    },
  },
  {
    id: 'method.get',
    level: 'should',
    rule: 'GET and HEAD are answered, but not with a 5xx.',
    hint: 'Answer other methods with 405. Monitors and crawlers find every address.',
    async run({ attempt }) {
      for (const method of ['GET', 'HEAD']) {
        answered(await attempt({ body: '', method, headers: () => [], as: `${method} without a signature` }));
      }
    },
  },
  {
    id: 'connection.kept',
    level: 'should',
    rule: 'Two deliveries on one connection are both answered with a 2xx.',
    hint: 'Read every body to its end, even of what you refuse, or close the connection with the answer.',
    async run({ accepts, events }) {
      const agent = new Agent({ keepAlive: true, maxSockets: 1 });
      try {
        await accepts({ body: events.received(), agent, as: 'first delivery on a connection' });
        await accepts({ body: events.received(), agent, as: 'second delivery on the same connection' });
      } finally {
        agent.destroy();
      }
    },
  },
  accepted(
    'delivery.afterwards',
    'After all of this, a delivery is still answered with a 2xx.',
    'An earlier check has stopped or blocked the receiver: run the checks one by one with --only, and look at its log.',
    () => [{}],
  ),
]);

/** At the end, when all deliveries have been made. */
export const limitChecks = onWire(SECTION, [
  {
    id: 'delivery.limits',
    level: 'should',
    rule: 'Genuine deliveries are not refused because there are many.',
    hint: LIMITED,
    async run({ limited }) {
      const [first] = limited;
      if (first === undefined) return;
      throw new Violation(
        'no 429 or 503',
        `${limited.length} times ${first.status}, before it was accepted`,
        first,
      );
    },
  },
]);

/** @throws Violation for a 5xx, except 501, which refuses a method */
function answered(exchange: { readonly status: number } & Parameters<typeof isSuccess>[0]): void {
  if (exchange.status >= 500 && exchange.status !== 501)
    throw new Violation('any status below 500', String(exchange.status), exchange);
}
