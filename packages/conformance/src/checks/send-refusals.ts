import { type Probe, Skip, Violation } from '../../../certify/src/runner/check.ts';
import type { Exchange } from '../../../certify/src/runner/exchange.ts';
import { NoAnswer } from '../../../certify/src/runner/http-client.ts';
import { sendingConnection } from '../fixtures/connections.ts';
import type { ServiceContext } from '../service/context.ts';
import {
  codeOf,
  expectRefusal,
  expectRefused,
  fieldsOf,
  nameAnswer,
  type Refusal,
  skipUnusable,
} from '../service/judge.ts';
import { NO_PHONE, UNKNOWN_ID } from '../service/requests.ts';
import { inSection } from '../service/service-check.ts';

const SECTION = 'Rules per endpoint, 10';
const LIMITS = 'Limits';
const PNG_DATA = 'iVBORw0KGgo=';
const MEDIA = { filename: 'check.png', mimetype: 'image/png', data: PNG_DATA };
const SEND = { connectionId: UNKNOWN_ID, to: NO_PHONE, text: 'Conformance check' };
/** More than 16 MB both as base64 and as the decoded file, whichever definition of a megabyte applies. */
const TOO_MUCH_DATA = 23_000_000;
/** Less than 16 MB even as base64. */
const MOST_DATA = 15_900_000;

/**
 * A send from a connection that does not exist, so that nothing can be sent. A service that looks for the connection
 * before it validates the body is asked again with a live one, if it could send only to the recipient.
 */
async function refuse(context: ServiceContext, body: Readonly<Record<string, unknown>>): Promise<Exchange> {
  const exchange = await context.api.request('POST', '/messages', { body });
  if (exchange.status !== 404) return exchange;
  const { profile, recipient } = context.inputs;
  if (profile !== 'full' || recipient === undefined || body['to'] !== NO_PHONE)
    throw new Skip('the service looks for the connection before it validates the body', '--recipient');
  const live = { ...body, connectionId: await sendingConnection(context), to: recipient };
  const again = await context.api.request('POST', '/messages', { body: live });
  skipUnusable(again);
  return again;
}

async function expectEach(
  context: ServiceContext,
  bodies: readonly Readonly<Record<string, unknown>>[],
  refusal: Refusal,
): Promise<void> {
  for (const body of bodies) expectRefusal(await refuse(context, body), refusal);
}

/** A service may close the connection before it has read so much, and most clients then lose its response. */
async function unlessClosed(asked: Promise<Exchange>, { signal }: Probe): Promise<Exchange | undefined> {
  return await asked.catch((error: unknown) => {
    if (!(error instanceof NoAnswer) || signal.aborted) throw error;
    return undefined;
  });
}

const BAD_NUMBERS = ['+491511234567', '49 151 1234567', '49-151-1234567', '00x49', 'someone', ''];

function without(fields: Readonly<Record<string, unknown>>, name: string): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([key]) => key !== name));
}

/** Sends that must be rejected. Implements `Rules per endpoint`, 10, and `Limits`. */
export const sendRefusalChecks = inSection({ section: SECTION }, [
  {
    id: 'send.text-and-media',
    rule: 'A send with both text and media returns 400 text_or_media.',
    run: (context) =>
      expectEach(context, [{ ...SEND, media: MEDIA }], { status: 400, code: 'text_or_media' }),
  },
  {
    id: 'send.neither',
    rule: 'A send with neither text nor media returns 400 text_or_media.',
    level: 'reading',
    run: (context) => expectEach(context, [without(SEND, 'text')], { status: 400, code: 'text_or_media' }),
  },
  {
    id: 'send.to.refused',
    rule: 'A recipient that is not only digits is rejected with 400, never cleaned up.',
    async run(context) {
      for (const to of BAD_NUMBERS) {
        const exchange = await refuse(context, { ...SEND, to });
        if (exchange.status !== 400) throw new Violation('status 400', nameAnswer(exchange), exchange);
      }
    },
  },
  {
    id: 'send.to.code',
    rule: 'An invalid recipient returns invalid_request for to.',
    level: 'reading',
    run: (context) =>
      expectEach(
        context,
        BAD_NUMBERS.map((to) => ({ ...SEND, to })),
        { status: 400, code: 'invalid_request', field: 'to' },
      ),
  },
  {
    id: 'send.required',
    rule: 'connectionId and to are required: 400 invalid_request names the missing one.',
    async run(context) {
      for (const field of ['connectionId', 'to']) {
        const exchange = await refuse(context, without(SEND, field));
        expectRefusal(exchange, { status: 400, code: 'invalid_request', field });
      }
    },
  },
  {
    id: 'send.text.longest',
    section: LIMITS,
    rule: 'A text of 4096 characters is accepted.',
    async run(context) {
      const body = { ...SEND, text: 'x'.repeat(4096) };
      const exchange = await context.api.request('POST', '/messages', { body });
      const field = fieldsOf(exchange)['field'];
      if (field === 'text') throw new Violation('no error for text', nameAnswer(exchange), exchange);
    },
  },
  {
    id: 'send.text.too-long',
    section: LIMITS,
    rule: 'A text of 4097 characters returns 400 invalid_request for text.',
    run: (context) =>
      expectEach(context, [{ ...SEND, text: 'x'.repeat(4097) }], {
        status: 400,
        code: 'invalid_request',
        field: 'text',
      }),
  },
  {
    id: 'send.text.code-points',
    section: LIMITS,
    rule: 'Characters are Unicode code points: 4096 emoji are accepted, 4097 are not.',
    level: 'reading',
    async run(context) {
      const longest = { ...SEND, text: '😀'.repeat(4096) };
      const exchange = await context.api.request('POST', '/messages', { body: longest });
      const field = fieldsOf(exchange)['field'];
      if (field === 'text') throw new Violation('no error for text', nameAnswer(exchange), exchange);
      const body = { ...SEND, text: '😀'.repeat(4097) };
      await expectEach(context, [body], { status: 400, code: 'invalid_request', field: 'text' });
    },
  },
  {
    id: 'send.media.required',
    section: 'Media object',
    rule: 'A file needs filename, mimetype and data: without one, 400 invalid_request.',
    async run(context) {
      for (const field of ['filename', 'mimetype', 'data']) {
        const body = { ...without(SEND, 'text'), media: without(MEDIA, field) };
        expectRefusal(await refuse(context, body), { status: 400, code: 'invalid_request' });
      }
    },
  },
  {
    id: 'send.media.base64',
    section: 'Media object',
    rule: 'Data that is not base64 returns 400 invalid_request.',
    level: 'should',
    run: (context) =>
      expectEach(context, [{ ...without(SEND, 'text'), media: { ...MEDIA, data: 'not base64!' } }], {
        status: 400,
        code: 'invalid_request',
      }),
  },
  {
    id: 'send.media.largest',
    section: LIMITS,
    rule: 'A file of just under 16 MB is not too large.',
    needs: ['full'],
    timeoutMs: 180_000,
    async run(context, probe) {
      const ask = (size: number): Promise<Exchange> => {
        const media = { ...MEDIA, data: PNG_DATA.replace('=', 'A').padEnd(size, 'A') };
        return context.api.request('POST', '/messages', { body: { ...without(SEND, 'text'), media } });
      };
      // Only its size may be the reason.
      const small = await ask(1_200);
      const exchange = await unlessClosed(ask(MOST_DATA), probe);
      if (exchange === undefined) throw new Skip('the connection was closed during the upload');
      const { status } = exchange;
      const isTooLarge = status === 413 || /^media\b/.test(String(fieldsOf(exchange)['field']));
      if (isTooLarge && nameAnswer(exchange) !== nameAnswer(small))
        throw new Violation('no error for its size', nameAnswer(exchange), exchange);
    },
  },
  {
    id: 'send.media.too-large',
    section: LIMITS,
    rule: 'A file of more than 16 MB is rejected.',
    needs: ['full'],
    timeoutMs: 180_000,
    async run(context, probe) {
      const media = { ...MEDIA, data: 'A'.repeat(TOO_MUCH_DATA) };
      const exchange = await unlessClosed(refuse(context, { ...without(SEND, 'text'), media }), probe);
      if (exchange === undefined) return probe.note('the connection was closed during the upload');
      expectRefused(exchange, 'a file of more than 16 MB');
      probe.note(`returned ${nameAnswer(exchange)}`);
    },
  },
  {
    id: 'send.connection.refused',
    rule: 'A send from a connection that does not exist is rejected.',
    async run(context) {
      expectRefused(await context.api.request('POST', '/messages', { body: SEND }), 'an unknown connection');
    },
  },
  {
    id: 'send.connection.code',
    section: 'Errors',
    rule: 'A send from a connection that does not exist returns 404 not_found.',
    level: 'reading',
    async run(context) {
      const exchange = await context.api.request('POST', '/messages', { body: SEND });
      expectRefusal(exchange, { status: 404, code: 'not_found' });
    },
  },
  {
    id: 'receipts.required',
    section: 'Rules per endpoint, 11',
    rule: 'A read receipt requires connectionId: 400 invalid_request without it.',
    async run(context) {
      const exchange = await context.api.request('POST', '/messages/read', { body: { phone: NO_PHONE } });
      expectRefusal(exchange, { status: 400, code: 'invalid_request', field: 'connectionId' });
    },
  },
  {
    id: 'receipts.target',
    section: 'Rules per endpoint, 11',
    rule: 'A read receipt requires phone or messageId: 400 invalid_request without both.',
    async run(context) {
      const body = { connectionId: UNKNOWN_ID };
      const exchange = await context.api.request('POST', '/messages/read', { body });
      if (exchange.status === 404)
        throw new Skip('the service looks for the connection before it validates the body');
      expectRefusal(exchange, { status: 400, code: 'invalid_request' });
    },
  },
  {
    id: 'receipts.unknown',
    section: 'Errors',
    rule: 'A read receipt on a connection that does not exist returns 404 not_found.',
    level: 'reading',
    async run(context) {
      const body = { connectionId: UNKNOWN_ID, phone: NO_PHONE };
      const exchange = await context.api.request('POST', '/messages/read', { body });
      expectRefusal(exchange, { status: 404, code: 'not_found' });
    },
  },
  {
    id: 'receipts.unlimited',
    section: LIMITS,
    rule: 'Read receipts have no rate limit: twenty in a row all get their normal response.',
    async run(context) {
      const body = { connectionId: UNKNOWN_ID, phone: NO_PHONE };
      for (let i = 0; i < 20; i++) {
        const exchange = await context.api.request('POST', '/messages/read', { body, takeRateLimit: true });
        if (exchange.status === 429) throw new Violation('no 429', `${codeOf(exchange)}`, exchange);
      }
    },
  },
]);
