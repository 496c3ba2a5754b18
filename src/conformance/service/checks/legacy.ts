import { Violation } from '../../runner/check.ts';
import type { Exchange } from '../../runner/exchange.ts';
import type { ServiceContext } from '../context.ts';
import { readPage } from '../fixtures/messages.ts';
import { expectEqual, nameAnswer } from '../judge.ts';
import { HARMLESS, UNKNOWN_ID } from '../requests.ts';
import type { ServiceCheck } from '../service-check.ts';

const SECTION = 'Versioning';
const PLAIN_READS = ['/connections', '/account', '/webhook'];

const legacyClient = (context: ServiceContext) =>
  context.clientFor({
    as: 'API key, legacy address',
    authorization: `Bearer ${context.inputs.apiKey}`,
    ...(context.inputs.legacyBaseUrl === undefined ? {} : { baseUrl: context.inputs.legacyBaseUrl }),
  });

/** What an answer says. Cursors are opaque and may differ; a message that came in between comes first. */
function tell(exchange: Exchange): unknown {
  return [exchange.status, exchange.headers.get('content-type'), exchange.json];
}

async function demandSame(
  context: ServiceContext,
  path: string,
  read: (exchange: Exchange) => unknown,
): Promise<void> {
  // Something may change between two reads, but not between any two.
  for (let tries = 1; ; tries++) {
    const legacy = await legacyClient(context).request('GET', path);
    const exchange = await context.api.request('GET', path);
    if (JSON.stringify(read(legacy)) === JSON.stringify(read(exchange))) return;
    if (tries === 3)
      throw new Violation(nameAnswer(exchange), `something else: ${nameAnswer(legacy)}`, legacy);
  }
}

/** The legacy address. Implements `Versioning`. */
export const legacyChecks: readonly ServiceCheck[] = [
  {
    id: 'legacy.reads',
    section: SECTION,
    rule: 'Connections, account and webhook are the same under the legacy address.',
    level: 'must',
    needs: ['legacy'],
    async run(context) {
      for (const path of PLAIN_READS) await demandSame(context, path, tell);
    },
  },
  {
    id: 'legacy.messages',
    section: SECTION,
    rule: 'Messages are the same under the legacy address.',
    level: 'must',
    needs: ['legacy'],
    async run(context) {
      const read = (exchange: Exchange): unknown => {
        const page = readPage(exchange);
        return [page.messages, page.hasMore];
      };
      await demandSame(context, '/messages?limit=5', read);
    },
  },
  {
    id: 'legacy.refusals',
    section: SECTION,
    rule: 'Refusals are the same under the legacy address.',
    level: 'must',
    needs: ['legacy'],
    async run(context) {
      for (const { method, path, body } of HARMLESS.filter((one) => one.path.includes(UNKNOWN_ID))) {
        const request = body === undefined ? {} : { body };
        const legacy = await legacyClient(context).request(method, path, request);
        const exchange = await context.api.request(method, path, request);
        expectEqual(`${method} ${path}`, tell(exchange), tell(legacy), legacy);
      }
    },
  },
];
