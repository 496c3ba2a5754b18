import { Skip, Violation } from '../../../certify/src/runner/check.ts';
import { readConnections, someConnections } from '../fixtures/connections.ts';
import { askPage, readPage } from '../fixtures/messages.ts';
import { ownConnection, readDetail } from '../fixtures/own-connections.ts';
import { secondWorkspace } from '../service/context.ts';
import { expectEqual, expectRefused, expectStatus, nameAnswer } from '../service/judge.ts';
import { NO_PHONE, UNKNOWN_ID } from '../service/requests.ts';
import { inSection } from '../service/service-check.ts';

const SECTION = 'API keys';
const SECOND = ['second-key'] as const;

/** What a workspace sees of another one: nothing. Implements the grants of `Authentication`. */
export const isolationChecks = inSection({ section: SECTION, needs: SECOND }, [
  {
    id: 'isolation.list',
    rule: 'No connection is listed in two workspaces.',
    hint: 'Is --second-api-key a key of another workspace than --api-key?',
    async run(context) {
      const own = new Set((await someConnections(context)).map(({ id }) => id));
      const exchange = await secondWorkspace(context).request('GET', '/connections');
      expectStatus(exchange, 200);
      const shared = readConnections(exchange).find(({ id }) => own.has(id));
      if (shared !== undefined) throw new Violation('no shared id', shared.id, exchange);
    },
  },
  {
    id: 'isolation.detail',
    rule: 'A connection of another workspace cannot be read.',
    async run(context) {
      const [{ id }] = await someConnections(context);
      const foreign = await secondWorkspace(context).request('GET', `/connections/${id}`);
      expectRefused(foreign, 'a connection of another workspace');
    },
  },
  {
    id: 'isolation.detail.same',
    section: 'Errors',
    rule: 'A connection of another workspace gets the same response as one that does not exist.',
    level: 'reading',
    async run(context) {
      const [{ id }] = await someConnections(context);
      const client = secondWorkspace(context);
      const unknown = await client.request('GET', `/connections/${UNKNOWN_ID}`);
      const foreign = await client.request('GET', `/connections/${id}`);
      expectEqual('the response', nameAnswer(unknown), nameAnswer(foreign), foreign);
    },
  },
  {
    id: 'isolation.messages',
    section: 'Rules per endpoint, 9',
    rule: 'The messages of a connection of another workspace are an empty page.',
    async run(context) {
      for (const { id } of (await someConnections(context)).slice(0, 3)) {
        const exchange = await secondWorkspace(context).request('GET', `/messages?connectionId=${id}`);
        expectStatus(exchange, 200);
        expectEqual('messages', 0, readPage(exchange).messages.length, exchange);
      }
    },
  },
  {
    id: 'isolation.cursor',
    section: 'Rules per endpoint, 9',
    rule: 'A cursor of another workspace never returns its messages.',
    async run(context) {
      const { nextCursor } = readPage(await askPage(context, 'limit=1'));
      if (nextCursor === undefined) throw new Skip('the account has too few messages for a cursor');
      const cursor = encodeURIComponent(nextCursor);
      const exchange = await secondWorkspace(context).request('GET', `/messages?limit=100&cursor=${cursor}`);
      if (exchange.status !== 200) return;
      const own = new Set(readPage(await askPage(context, 'limit=100')).messages.map(({ id }) => id));
      const leaked = readPage(exchange).messages.find(({ id }) => own.has(id));
      if (leaked !== undefined) throw new Violation('no message of the other workspace', leaked.id, exchange);
    },
  },
  {
    id: 'isolation.receipts',
    rule: 'Nothing can be marked as read on a connection of another workspace.',
    async run(context) {
      const [{ id: connectionId }] = await someConnections(context);
      const body = { connectionId, phone: NO_PHONE };
      const exchange = await secondWorkspace(context).request('POST', '/messages/read', { body });
      expectRefused(exchange, 'a connection of another workspace');
    },
  },
  {
    id: 'isolation.send',
    rule: 'A connection of another workspace cannot send.',
    needs: ['full', 'second-key', 'recipient'],
    async run(context) {
      const [{ id: connectionId }] = await someConnections(context);
      const body = { connectionId, to: context.inputs.recipient, text: 'Conformance check: not to be sent' };
      const exchange = await secondWorkspace(context).request('POST', '/messages', { body });
      expectRefused(exchange, 'a connection of another workspace');
    },
  },
  {
    id: 'isolation.manage',
    rule: 'A connection of another workspace cannot be restarted, logged out, paired or deleted.',
    needs: ['full', 'second-key'],
    async run(context) {
      const id = await ownConnection(context);
      const client = secondWorkspace(context);
      const code = { body: { phoneNumber: NO_PHONE } };
      for (const what of ['restart', 'logout']) {
        const exchange = await client.request('POST', `/connections/${id}/${what}`);
        expectRefused(exchange, 'a connection of another workspace');
      }
      const paired = await client.request('POST', `/connections/${id}/pairing-code`, code);
      expectRefused(paired, 'a connection of another workspace');
      expectRefused(
        await client.request('DELETE', `/connections/${id}`),
        'a connection of another workspace',
      );
      expectStatus(await readDetail(context, id), 200);
    },
  },
]);
