import { Violation } from '../../../certify/src/runner/check.ts';
import type { Exchange } from '../../../certify/src/runner/exchange.ts';
import { type PagedMessage, readPage } from '../fixtures/messages.ts';
import type { ServiceContext } from '../service/context.ts';
import { expectEqual, fieldsOf, nameAnswer } from '../service/judge.ts';
import { HARMLESS, UNKNOWN_ID } from '../service/requests.ts';
import { inSection } from '../service/service-check.ts';

const SECTION = 'Versioning';
const PLAIN_READS = ['/connections', '/account', '/webhook'];

const legacyClient = (context: ServiceContext) =>
  context.clientFor({
    as: 'API key, legacy address',
    authorization: `Bearer ${context.inputs.apiKey}`,
    ...(context.inputs.legacyBaseUrl === undefined ? {} : { baseUrl: context.inputs.legacyBaseUrl }),
  });

/** The content of a response. */
function contentOf(exchange: Exchange): unknown {
  return [exchange.status, exchange.headers.get('content-type'), exchange.json];
}

/** What an error must repeat. Fields that the specification does not name may differ, such as an id of the request. */
function errorOf(exchange: Exchange): unknown {
  const [status, type] = [exchange.status, exchange.headers.get('content-type')];
  const { error, field, hint, ...further } = fieldsOf(exchange);
  return [status, type, error, field, hint, Object.keys(further)];
}

/** Fields of a message that change by themselves. */
const RISING = ['status', 'errorMessage'];

/** The first field in which two versions of one message differ. */
function findDifference({ fields: one }: PagedMessage, { fields: other }: PagedMessage): string | undefined {
  const names = new Set([...Object.keys(one), ...Object.keys(other)]);
  return [...names].find((name) => !RISING.includes(name) && one[name] !== other[name]);
}

async function demandSame(context: ServiceContext, path: string): Promise<void> {
  // Something may change between two reads, but not between every two.
  for (let tries = 1; ; tries++) {
    const legacy = await legacyClient(context).request('GET', path);
    const exchange = await context.api.request('GET', path);
    if (JSON.stringify(contentOf(legacy)) === JSON.stringify(contentOf(exchange))) return;
    if (tries === 3)
      throw new Violation(nameAnswer(exchange), `something else: ${nameAnswer(legacy)}`, legacy);
  }
}

/** The legacy address. Implements `Versioning`. */
export const legacyChecks = inSection({ section: SECTION, needs: ['legacy'] }, [
  {
    id: 'legacy.reads',
    rule: 'Connections, account and webhook are the same at the legacy address.',
    async run(context) {
      for (const path of PLAIN_READS) await demandSame(context, path);
    },
  },
  {
    id: 'legacy.messages',
    rule: 'Messages are the same at the legacy address.',
    async run(context) {
      const path = '/messages?limit=20';
      const legacy = await legacyClient(context).request('GET', path);
      const exchange = await context.api.request('GET', path);
      const known = readPage(exchange).messages;
      const found = new Map(readPage(legacy).messages.map((message) => [message.id, message]));
      // Others may arrive between the two reads, and statuses advance.
      const shared = known.flatMap((message) => {
        const other = found.get(message.id);
        return other === undefined ? [] : [[message, other] as const];
      });
      if (shared.length === 0 && known.length > 0) {
        throw new Violation('the same messages', 'none of them', legacy);
      }
      for (const [message, other] of shared) {
        const name = findDifference(message, other);
        if (name !== undefined)
          throw new Violation(`the same ${name} of ${message.id}`, 'another one', legacy);
      }
    },
  },
  {
    id: 'legacy.refusals',
    rule: 'Errors are the same at the legacy address.',
    async run(context) {
      for (const { method, path, body } of HARMLESS.filter((one) => one.path.includes(UNKNOWN_ID))) {
        const request = body === undefined ? {} : { body };
        const legacy = await legacyClient(context).request(method, path, request);
        const exchange = await context.api.request(method, path, request);
        expectEqual(`${method} ${path}`, errorOf(exchange), errorOf(legacy), legacy);
      }
    },
  },
]);
