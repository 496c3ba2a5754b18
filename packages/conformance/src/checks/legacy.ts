import { Violation } from '../../../certify/src/runner/check.ts';
import type { Exchange } from '../../../certify/src/runner/exchange.ts';
import type { HttpClient } from '../../../certify/src/runner/http-client.ts';
import { readPage } from '../fixtures/messages.ts';
import type { ServiceContext } from '../service/context.ts';
import { expectEqual, fieldsOf, isObject, nameAnswer } from '../service/judge.ts';
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

/** What two values have in common, with keys in one order, which says nothing. */
function common(one: unknown, other: unknown): unknown {
  if (Array.isArray(one) && Array.isArray(other)) return one.map((item, at) => common(item, other[at]));
  if (isObject(one) && isObject(other)) {
    const names = Object.keys(one).toSorted();
    return Object.fromEntries(names.map((name) => [name, common(one[name], other[name])]));
  }
  return one === other ? one : undefined;
}

/** A response, and what it has in common with another one: the rest changes by itself, such as an id of the request. */
async function readTwice(client: HttpClient, path: string) {
  const [first, exchange] = [await client.request('GET', path), await client.request('GET', path)];
  return { first, exchange, content: JSON.stringify(common(contentOf(first), contentOf(exchange))) };
}

/** The content of a response. */
function contentOf(exchange: Exchange): unknown {
  return [exchange.status, exchange.headers.get('content-type'), exchange.json];
}

/** What an error must repeat. Fields that the specification does not name may differ, such as an id of the request. */
function errorOf(exchange: Exchange): unknown {
  const [status, type] = [exchange.status, exchange.headers.get('content-type')];
  const { error, field, hint, ...further } = fieldsOf(exchange);
  return [status, type, error, field, hint, Object.keys(further).toSorted()];
}

type Fields = Readonly<Record<string, unknown>>;

/** Fields of a message that change by themselves. */
const RISING = ['status', 'errorMessage'];

/** The messages of two reads by their ids, with what does not change by itself. */
function messagesOf({ first, exchange }: Awaited<ReturnType<typeof readTwice>>) {
  const again = new Map(readPage(exchange).messages.map(({ id, fields }) => [id, fields]));
  const read = readPage(first).messages.map(({ id, fields }) => [id, common(fields, again.get(id))] as const);
  return new Map(read.flatMap(([id, fields]) => (isObject(fields) ? [[id, fields] as const] : [])));
}

/** The first field in which two versions of one message differ. */
function findDifference(one: Fields, other: Fields): string | undefined {
  const names = new Set([...Object.keys(one), ...Object.keys(other)]);
  const isSame = (name: string): boolean => JSON.stringify(one[name]) === JSON.stringify(other[name]);
  return [...names].find((name) => !RISING.includes(name) && !isSame(name));
}

async function demandSame(context: ServiceContext, path: string): Promise<void> {
  // Something may change between two reads, but not between every two.
  for (let tries = 1; ; tries++) {
    const legacy = await readTwice(legacyClient(context), path);
    const own = await readTwice(context.api, path);
    if (legacy.content === own.content) return;
    if (tries === 3) {
      const found = `something else: ${nameAnswer(legacy.exchange)}`;
      throw new Violation(nameAnswer(own.exchange), found, legacy.exchange);
    }
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
      const legacy = await readTwice(legacyClient(context), path);
      const known = messagesOf(await readTwice(context.api, path));
      const found = messagesOf(legacy);
      // Others may arrive between the reads, and statuses advance.
      const shared = [...known].filter(([id]) => found.has(id));
      if (shared.length === 0 && known.size > 0) {
        throw new Violation('the same messages', 'none of them', legacy.exchange);
      }
      for (const [id, fields] of shared) {
        const name = findDifference(fields, found.get(id) ?? {});
        if (name !== undefined)
          throw new Violation(`the same ${name} of ${id}`, 'another one', legacy.exchange);
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
