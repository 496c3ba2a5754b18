import { randomUUID } from 'node:crypto';
import { Violation } from '../../../certify/src/runner/check.ts';
import type { Exchange } from '../../../certify/src/runner/exchange.ts';
import { connectionOf, readConnections } from '../fixtures/connections.ts';
import {
  firstCreation,
  idOf,
  LABEL,
  ownConnection,
  plainCreation,
  readDetail,
  requestConnection,
} from '../fixtures/own-connections.ts';
import type { ServiceContext } from '../service/context.ts';
import { secondWorkspace } from '../service/context.ts';
import { expectEqual, expectRefusal, expectStatus, isObject, nameAnswer } from '../service/judge.ts';
import { readPng } from '../service/png.ts';
import { LONG_KEY } from '../service/requests.ts';
import { inSection } from '../service/service-check.ts';
import { demandShape } from '../service/shape.ts';
import { shapeCheck } from '../service/shape-check.ts';
import { createdConnection } from '../service/spec-shapes.ts';

const SECTION = 'Rules per endpoint, 2';
const FULL = ['full'] as const;

/** Repeats the first creation with the same key. */
async function repeat(context: ServiceContext, rawBody: string): Promise<Exchange> {
  const { key, exchange } = await firstCreation(context);
  expectStatus(exchange, 201);
  return requestConnection(context, context.api, { rawBody, headers: { 'idempotency-key': key } });
}

const replay = (context: ServiceContext): Promise<Exchange> =>
  context.once('a repeated creation', () => repeat(context, JSON.stringify({ label: LABEL })));

async function demandReplay(context: ServiceContext, exchange: Exchange): Promise<void> {
  expectStatus(exchange, 200);
  const header = exchange.headers.get('idempotency-replayed');
  if (header !== 'true') {
    throw new Violation('Idempotency-Replayed: true', header ?? 'no such header', exchange);
  }
  expectEqual('id', await ownConnection(context), idOf(exchange), exchange);
}

const totalOf = ({ json }: Exchange): number => {
  const connections = isObject(json) ? json['connections'] : undefined;
  return isObject(connections) ? Number(connections['total']) : Number.NaN;
};

/** `POST /connections`. Implements `Rules per endpoint`, 2. */
export const creationChecks = inSection({ section: `${SECTION}, rule 5`, needs: FULL }, [
  shapeCheck({
    id: 'create.shape',
    section: 'Created connection',
    rule: 'POST /connections returns 201 with id, status connecting and a qr.',
    ask: async (context) => (await firstCreation(context)).exchange,
    status: 201,
    shape: createdConnection,
  }),
  {
    id: 'create.label',
    section: 'Create request body',
    rule: 'A new connection has the label of the request.',
    async run(context) {
      const exchange = await readDetail(context, await ownConnection(context));
      expectEqual('label', LABEL, connectionOf(exchange)['label'], exchange);
    },
  },
  {
    id: 'create.picture',
    section: SECTION,
    rule: 'The qr of a new connection is a complete PNG.',
    async run(context) {
      const { exchange } = await firstCreation(context);
      const png = readPng(connectionOf(exchange)['qr']);
      if (typeof png === 'string') throw new Violation('a PNG that can contain a QR code', png, exchange);
    },
  },
  shapeCheck({
    id: 'create.no-body',
    section: 'Create request body',
    rule: 'The body of POST /connections is optional.',
    ask: plainCreation,
    status: 201,
    shape: createdConnection,
  }),
  {
    id: 'create.counted',
    section: 'Account (GET /account)',
    rule: 'A connection that waits for its phone counts in connections.total.',
    level: 'reading',
    async run(context) {
      const before = await context.api.request('GET', '/account');
      idOf(await requestConnection(context, context.api, { body: { label: LABEL } }));
      const after = await context.api.request('GET', '/account');
      expectEqual('connections.total', totalOf(before) + 1, totalOf(after), after);
    },
  },
  {
    id: 'create.unlisted',
    section: 'Resources, 5',
    rule: 'A connection that waits for its phone is not listed.',
    level: 'reading',
    async run(context) {
      const id = await ownConnection(context);
      const exchange = await context.api.request('GET', '/connections');
      if (readConnections(exchange).some((connection) => connection.id === id)) {
        throw new Violation(`a list without ${id}`, 'it is listed', exchange);
      }
    },
  },
  {
    id: 'create.replay',
    section: `${SECTION}, rule 2`,
    rule: 'The same key with the same body returns 200, Idempotency-Replayed: true and the same connection.',
    async run(context, probe) {
      const exchange = await replay(context);
      await demandReplay(context, exchange);
      demandShape(exchange, createdConnection, probe);
    },
  },
  {
    id: 'create.replay.fresh-picture',
    section: `${SECTION}, rule 2`,
    rule: 'A replay returns a freshly fetched qr.',
    async run(context) {
      const first = connectionOf((await firstCreation(context)).exchange)['qr'];
      const exchange = await replay(context);
      if (connectionOf(exchange)['qr'] === first)
        throw new Violation('a different qr', 'the same qr', exchange);
    },
  },
  {
    id: 'create.replay.canonical-body',
    section: `${SECTION}, rule 6`,
    rule: 'Bodies are compared by content: white space and escapes are irrelevant.',
    async run(context) {
      const rawBody = `{ "label" :\n  "${LABEL.replace('C', '\\u0043')}" }`;
      await demandReplay(context, await repeat(context, rawBody));
    },
  },
  {
    id: 'create.reuse',
    section: `${SECTION}, rule 3`,
    rule: 'The same key with a different body returns 400 idempotency_key_reuse.',
    async run(context) {
      for (const body of [{ label: `${LABEL}, another` }, {}]) {
        const exchange = await repeat(context, JSON.stringify(body));
        expectRefusal(exchange, { status: 400, code: 'idempotency_key_reuse' });
      }
    },
  },
  {
    id: 'create.at-once',
    section: `${SECTION}, rule 4`,
    rule: 'Concurrent requests with one key create one connection; those too early get 409 with Retry-After: 1.',
    async run(context, probe) {
      const headers = { 'idempotency-key': `conformance-${randomUUID()}` };
      const request = { body: { label: LABEL }, headers };
      const asked = Array.from({ length: 4 }, () => requestConnection(context, context.api, request));
      const exchanges = await Promise.all(asked);
      const made = exchanges.filter(({ status }) => status === 201);
      if (made.length !== 1) throw new Violation('one 201', exchanges.map(nameAnswer).join(', '));
      const early = exchanges.filter(({ status }) => status === 409);
      for (const exchange of early) {
        expectRefusal(exchange, { status: 409, code: 'idempotency_in_progress' });
        expectEqual('Retry-After', '1', exchange.headers.get('retry-after'), exchange);
      }
      const ids = exchanges.filter(({ status }) => status < 300).map(idOf);
      if (new Set(ids).size !== 1) throw new Violation('one connection', ids.join(', '));
      probe.note(`${early.length} of ${exchanges.length} were too early`);
    },
  },
  {
    id: 'create.key.too-long',
    rule: 'A key of 256 characters returns 400 idempotency_key_invalid; it is never truncated.',
    async run(context) {
      const request = { body: { label: LABEL }, headers: { 'idempotency-key': LONG_KEY } };
      const exchange = await requestConnection(context, context.api, request);
      expectRefusal(exchange, { status: 400, code: 'idempotency_key_invalid' });
    },
  },
  {
    id: 'create.key.longest',
    rule: 'A key of 255 characters is accepted.',
    async run(context) {
      const key = randomUUID().padEnd(255, 'k');
      const request = { body: { label: LABEL }, headers: { 'idempotency-key': key } };
      expectStatus(await requestConnection(context, context.api, request), 201);
    },
  },
  {
    id: 'create.key.blank',
    rule: 'A blank key counts as absent: two requests create two connections.',
    async run(context) {
      const request = { body: { label: LABEL }, headers: { 'idempotency-key': '   ' } };
      const ids: string[] = [];
      for (let i = 0; i < 2; i++) {
        const exchange = await requestConnection(context, context.api, request);
        expectStatus(exchange, 201);
        ids.push(idOf(exchange));
      }
      if (ids[0] === ids[1]) throw new Violation('two connections', `${ids[0]} twice`);
    },
  },
  {
    id: 'create.key.per-workspace',
    section: `${SECTION}, rule 6`,
    rule: 'Keys belong to a workspace: another workspace can use the same key.',
    needs: ['full', 'second-key'],
    async run(context) {
      const { key } = await firstCreation(context);
      const request = { body: { label: LABEL }, headers: { 'idempotency-key': key } };
      const exchange = await requestConnection(context, secondWorkspace(context), request);
      expectStatus(exchange, 201);
      if (idOf(exchange) === (await ownConnection(context))) {
        throw new Violation('its own connection', 'that of the other workspace', exchange);
      }
    },
  },
]);
