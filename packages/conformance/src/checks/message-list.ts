import { Skip, Violation } from '../../../certify/src/runner/check.ts';
import { listConnections, readConnections } from '../fixtures/connections.ts';
import { askPage, isLast, newestPage, readPage, someMessages, walk } from '../fixtures/messages.ts';
import { expectEqual, expectRefusal, expectStatus } from '../service/judge.ts';
import { UNKNOWN_ID } from '../service/requests.ts';
import { inSection } from '../service/service-check.ts';
import { demandShape } from '../service/shape.ts';
import { messagePage, messages } from '../service/spec-shapes.ts';

const SECTION = 'Rules per endpoint, 9';
const MAX_PAGES = 8;
const DEFAULT_LIMIT = 20;
const BAD_LIMITS = ['0', '101', '-1', '1.5', 'abc', ''];
const FORGED = ['forged', 'eyJpZCI6MX0', '0', '%00'];

/** `GET /messages`. Implements `Message` and `Rules per endpoint`, 9. */
export const messageListChecks = inSection({ section: SECTION }, [
  {
    id: 'messages.page.shape',
    section: 'Endpoints, 9',
    rule: 'GET /messages returns 200 with messages, nextCursor and hasMore.',
    async run(context, probe) {
      const exchange = await newestPage(context);
      expectStatus(exchange, 200);
      // The next check covers the fields of the messages.
      const note = (text: string): void => {
        if (!text.includes('messages[]')) probe.note(text);
      };
      demandShape(exchange, messagePage, { note });
    },
  },
  {
    id: 'messages.message.shape',
    section: 'Message',
    rule: 'Each message has every field of the table, with its type.',
    async run(context, probe) {
      const { exchange } = await someMessages(context);
      const ofPage = ['nextCursor', 'hasMore'];
      const note = (text: string): void => {
        const fields = text.replace('further fields: ', '').split(', ');
        const further = fields.filter((name) => !ofPage.includes(name));
        if (further.length > 0) probe.note(`further fields: ${further.join(', ')}`);
      };
      demandShape(exchange, messages, { note });
    },
  },
  {
    id: 'messages.order',
    rule: 'Messages are returned newest first.',
    async run(context) {
      const page = await someMessages(context, 2);
      const times = page.messages.map(({ fields }) => Date.parse(String(fields['createdAt'])));
      const wrong = times.findIndex((time, index) => index > 0 && time > Number(times[index - 1]));
      if (wrong !== -1) {
        const found = `message ${wrong + 1} is newer than the previous one`;
        throw new Violation('createdAt never increases down the page', found, page.exchange);
      }
    },
  },
  {
    id: 'messages.ids',
    section: 'Message',
    rule: 'An id appears once on a page.',
    async run(context) {
      const { messages: shown, exchange } = await someMessages(context, 2);
      const ids = shown.map(({ id }) => id);
      expectEqual('different ids', ids.length, new Set(ids).size, exchange);
    },
  },
  {
    id: 'messages.limit.honoured',
    rule: 'A page has at most limit messages, for 1 and for 100.',
    async run(context) {
      for (const limit of [1, 100]) {
        const exchange = await askPage(context, `limit=${limit}`);
        expectStatus(exchange, 200);
        const found = readPage(exchange).messages.length;
        if (found > limit) throw new Violation(`at most ${limit} messages`, `${found}`, exchange);
      }
    },
  },
  {
    id: 'messages.limit.default',
    rule: 'Without limit a page has 20 messages, or all if there are fewer.',
    async run(context) {
      const all = await someMessages(context);
      const page = readPage(await askPage(context, ''));
      const expected = Math.min(DEFAULT_LIMIT, all.messages.length);
      const found = page.messages.length;
      // Messages may have arrived since the first page was read.
      if (found < expected || found > DEFAULT_LIMIT) {
        throw new Violation(`${expected} messages`, `${found}`, page.exchange);
      }
    },
  },
  {
    id: 'messages.limit.outside',
    rule: 'A limit outside 1 to 100, or one that is not an integer, returns 400 invalid_request for limit.',
    level: 'reading',
    async run(context) {
      for (const limit of BAD_LIMITS) {
        const exchange = await askPage(context, `limit=${limit}`);
        expectRefusal(exchange, { status: 400, code: 'invalid_request', field: 'limit' });
      }
    },
  },
  {
    id: 'messages.walk',
    rule: 'Following nextCursor returns every message once: none is skipped or repeated.',
    async run(context) {
      const { messages: before } = await someMessages(context, 3);
      const limit = Math.max(1, Math.floor(before.length / 4));
      const walked = await walk(context, limit, MAX_PAGES);
      const ids = walked.flatMap((page) => page.messages.map(({ id }) => id));
      const twice = ids.find((id, index) => ids.indexOf(id) !== index);
      if (twice !== undefined) throw new Violation('each message once', `${twice} is repeated`);
      const whole = readPage(await askPage(context, 'limit=100')).messages.map(({ id }) => id);
      // Messages that arrived during the walk are above its first message; messages that it did not reach are
      // below its last one.
      const from = whole.indexOf(ids[0] ?? '');
      if (from === -1) throw new Skip('more than a page of messages arrived during the walk');
      const expected = whole.slice(from, from + ids.length);
      const missed = expected.find((id) => !ids.includes(id));
      if (missed !== undefined)
        throw new Violation(`pages of ${limit} that contain ${missed}`, 'it is skipped');
      const short = isLast(walked.at(-1)) && from + ids.length < whole.length;
      if (short) throw new Violation(`${whole.length - from} messages`, `the walk ends after ${ids.length}`);
    },
  },
  {
    id: 'messages.has-more',
    rule: 'While hasMore is true there is a next cursor, and the next page has messages.',
    async run(context) {
      const { messages: shown } = await someMessages(context);
      const limit = Math.max(1, Math.floor(shown.length / 4));
      const pages = await walk(context, limit, MAX_PAGES);
      for (const [index, { hasMore, nextCursor, messages: of, exchange }] of pages.entries()) {
        if (hasMore === true && nextCursor === undefined) {
          throw new Violation('a nextCursor', 'none, and hasMore true', exchange);
        }
        if (index > 0 && of.length === 0)
          throw new Violation('a page with messages', 'an empty page', exchange);
      }
    },
  },
  {
    id: 'messages.last-page',
    rule: 'The last page has hasMore false and nextCursor null.',
    level: 'reading',
    async run(context) {
      const last = (await walk(context, 100, MAX_PAGES)).at(-1);
      if (last === undefined || !isLast(last)) {
        throw new Skip('the account has more messages than this check reads');
      }
      const json = last.exchange.json as Readonly<Record<string, unknown>>;
      expectEqual('nextCursor', null, json['nextCursor'], last.exchange);
      expectEqual('hasMore', false, last.hasMore, last.exchange);
    },
  },
  {
    id: 'messages.cursor.forged',
    rule: 'A cursor that the service did not return is rejected with 400 invalid_request for cursor.',
    level: 'reading',
    async run(context) {
      for (const cursor of FORGED) {
        const exchange = await askPage(context, `limit=1&cursor=${cursor}`);
        expectRefusal(exchange, { status: 400, code: 'invalid_request', field: 'cursor' });
      }
    },
  },
  {
    id: 'messages.cursor.altered',
    rule: 'A cursor that was altered is rejected with 400 invalid_request for cursor.',
    level: 'reading',
    async run(context) {
      const { nextCursor } = readPage(await askPage(context, 'limit=1'));
      if (nextCursor === undefined) throw new Skip('the account has too few messages for a cursor');
      const at = Math.floor(nextCursor.length / 2);
      const other = nextCursor[at] === 'A' ? 'B' : 'A';
      const altered = `${nextCursor.slice(0, at)}${other}${nextCursor.slice(at + 1)}`;
      const exchange = await askPage(context, `limit=1&cursor=${encodeURIComponent(altered)}`);
      expectRefusal(exchange, { status: 400, code: 'invalid_request', field: 'cursor' });
    },
  },
  {
    id: 'messages.cursor.other-filter',
    rule: 'A cursor of one filter is rejected with 400 invalid_request for cursor under another one.',
    level: 'reading',
    async run(context) {
      const { nextCursor, messages: shown } = readPage(await askPage(context, 'limit=1'));
      if (nextCursor === undefined) throw new Skip('the account has too few messages for a cursor');
      const filter = `connectionId=${String(shown[0]?.fields['connectionId'])}`;
      const exchange = await askPage(context, `limit=1&${filter}&cursor=${encodeURIComponent(nextCursor)}`);
      expectRefusal(exchange, { status: 400, code: 'invalid_request', field: 'cursor' });
    },
  },
  {
    id: 'messages.filter.connection',
    rule: 'connectionId returns the messages of that connection, and of no other.',
    async run(context) {
      const { messages: shown } = await someMessages(context);
      for (const id of new Set(shown.map(({ fields }) => String(fields['connectionId'])))) {
        const exchange = await askPage(context, `limit=100&connectionId=${encodeURIComponent(id)}`);
        expectStatus(exchange, 200);
        const page = readPage(exchange);
        const foreign = page.messages.find(({ fields }) => fields['connectionId'] !== id);
        if (foreign !== undefined) throw new Violation(`messages of ${id}`, `${foreign.id}`, exchange);
        const own = shown.filter(({ fields }) => fields['connectionId'] === id);
        const missing = own.find((one) => !page.messages.some((other) => other.id === one.id));
        if (missing !== undefined && page.nextCursor === undefined) {
          throw new Violation(`${missing.id} among them`, 'it is missing', exchange);
        }
      }
    },
  },
  {
    id: 'messages.filter.outside',
    rule: 'A connectionId outside the grant returns an empty page, not an error.',
    async run(context) {
      const exchange = await askPage(context, `connectionId=${UNKNOWN_ID}`);
      expectStatus(exchange, 200);
      expectEqual('messages', 0, readPage(exchange).messages.length, exchange);
    },
  },
  {
    id: 'messages.visible',
    rule: 'Messages belong to listed connections: a connection without a license is hidden with its messages.',
    level: 'reading',
    async run(context) {
      const page = await someMessages(context);
      const listed = new Set(readConnections(await listConnections(context)).map(({ id }) => id));
      const hidden = page.messages.find(({ fields }) => !listed.has(String(fields['connectionId'])));
      if (hidden === undefined) return;
      const found = `${hidden.id} of ${String(hidden.fields['connectionId'])}`;
      throw new Violation('messages of listed connections', found, page.exchange);
    },
  },
]);
