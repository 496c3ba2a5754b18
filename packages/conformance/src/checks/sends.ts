import { randomUUID } from 'node:crypto';
import { Skip, Violation } from '../../../certify/src/runner/check.ts';
import type { Exchange } from '../../../certify/src/runner/exchange.ts';
import { liveConnection, sendingConnection } from '../fixtures/connections.ts';
import { askPage, demandMessage, findMessage, readPage } from '../fixtures/messages.ts';
import { firstText, messageIdOf, SEND_TIMEOUT_MS, sendText } from '../fixtures/sends.ts';
import type { ServiceContext } from '../service/context.ts';
import {
  expectEqual,
  expectRefusal,
  expectStatus,
  fieldsOf,
  nameAnswer,
  nameValue,
  skipUnusable,
} from '../service/judge.ts';
import { inSection } from '../service/service-check.ts';
import { demandShape, demandValue } from '../service/shape.ts';
import { shapeCheck } from '../service/shape-check.ts';
import { message, sendAnswer } from '../service/spec-shapes.ts';

const SECTION = 'Rules per endpoint, 10';
const SENDING = { needs: ['full', 'recipient'], timeoutMs: SEND_TIMEOUT_MS } as const;
/** A picture of one point. */
const PICTURE =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

const again = (context: ServiceContext): Promise<Exchange> =>
  context.once('A repeated send, and the send it repeats.', async () => {
    const { body, exchange } = await firstText(context);
    expectStatus(exchange, 200);
    return context.api.request('POST', '/messages', { body });
  });

const picture = (context: ServiceContext): Promise<Exchange> =>
  context.once('a picture that was sent', async () => {
    const media = {
      filename: 'check.png',
      mimetype: 'image/png',
      data: PICTURE,
      caption: 'Conformance check',
    };
    const body = { connectionId: await sendingConnection(context), to: context.inputs.recipient, media };
    const exchange = await context.api.request('POST', '/messages', { body });
    skipUnusable(exchange);
    return exchange;
  });

/** How many of the newest messages have a text. */
async function countText(context: ServiceContext, text: string): Promise<number> {
  const { messages } = readPage(await askPage(context, 'limit=100'));
  return messages.filter(({ fields }) => fields['text'] === text).length;
}

/** Sends that are delivered, only to the recipient. Implements `Rules per endpoint`, 10. */
export const sendChecks = inSection({ section: SECTION, ...SENDING }, [
  shapeCheck({
    id: 'send.text.shape',
    section: 'Endpoints, 10',
    rule: 'Sending a text returns 200 with messageId, waMessageId and status.',
    ask: async (context) => (await firstText(context)).exchange,
    shape: sendAnswer,
  }),
  {
    id: 'send.text.listed',
    rule: 'The messageId of a send is the id of an outgoing message in GET /messages, with the text sent.',
    async run(context, probe) {
      const sent = await firstText(context);
      const id = messageIdOf(sent.exchange);
      const found = await demandMessage(context, id);
      demandValue(found.fields, message, probe);
      const { direction, text, connectionId } = found.fields;
      expectEqual('direction', 'outgoing', direction);
      expectEqual('connectionId', sent.connectionId, connectionId);
      if (text !== sent.text) throw new Violation('the text that was sent', 'a different text');
    },
  },
  {
    id: 'send.repeat.answer',
    rule: 'The same idempotencyKey again returns the same messageId.',
    async run(context) {
      const { exchange: first } = await firstText(context);
      const exchange = await again(context);
      expectStatus(exchange, 200);
      expectEqual('messageId', messageIdOf(first), messageIdOf(exchange), exchange);
    },
  },
  {
    id: 'send.repeat.once',
    rule: 'A repeated send creates no second message.',
    async run(context) {
      const { text } = await firstText(context);
      await again(context);
      const found = await countText(context, text);
      if (found !== 1) throw new Violation('one message with that text', `${found}`);
    },
  },
  {
    id: 'send.repeat.other-body',
    rule: 'The same idempotencyKey with a different text returns 400 idempotency_key_reuse, and sends nothing.',
    level: 'reading',
    async run(context) {
      const { body } = await firstText(context);
      const text = `Conformance check: another text (${randomUUID().slice(0, 8)})`;
      const exchange = await context.api.request('POST', '/messages', { body: { ...body, text } });
      expectRefusal(exchange, { status: 400, code: 'idempotency_key_reuse' });
      expectEqual('messages with the other text', 0, await countText(context, text));
    },
  },
  {
    id: 'send.at-once',
    rule: 'Concurrent sends with one key create one message; those too early get 409 in_progress.',
    async run(context, probe) {
      const connectionId = await sendingConnection(context);
      const idempotencyKey = randomUUID();
      const text = `Conformance check: at once (${idempotencyKey.slice(0, 8)})`;
      const body = { connectionId, to: context.inputs.recipient, text, idempotencyKey };
      const asked = Array.from({ length: 4 }, () => context.api.request('POST', '/messages', { body }));
      const exchanges = await Promise.all(asked);
      for (const exchange of exchanges) skipUnusable(exchange);
      const early = exchanges.filter(({ status }) => status !== 200);
      for (const exchange of early) expectRefusal(exchange, { status: 409, code: 'in_progress' });
      const ids = new Set(exchanges.filter(({ status }) => status === 200).map(messageIdOf));
      if (ids.size !== 1) throw new Violation('one messageId', [...ids].join(', ') || 'none');
      const found = await countText(context, text);
      if (found !== 1) throw new Violation('one message with that text', `${found}`);
      probe.note(`${early.length} of ${exchanges.length} were too early`);
    },
  },
  shapeCheck({
    id: 'send.media.shape',
    section: 'Media object',
    rule: 'Sending an image returns 200 with messageId, waMessageId and status.',
    ask: picture,
    shape: sendAnswer,
  }),
  {
    id: 'send.media.network-id',
    rule: 'A media send returns the network id as waMessageId and as wa_message_id, with the same value.',
    level: 'reading',
    async run(context) {
      const exchange = await picture(context);
      messageIdOf(exchange);
      const { waMessageId, wa_message_id: older } = fieldsOf(exchange);
      if (waMessageId === null && older === null) throw new Skip('the send has no network id');
      expectEqual('wa_message_id', waMessageId, older, exchange);
    },
  },
  {
    id: 'send.media.listed',
    section: 'Message',
    rule: 'A sent image is listed as an outgoing message with the id of its send.',
    async run(context, probe) {
      const found = await demandMessage(context, messageIdOf(await picture(context)));
      demandValue(found.fields, message, probe);
      expectEqual('direction', 'outgoing', found.fields['direction']);
      probe.note(`mediaType ${nameValue(found.fields['mediaType'])}`);
    },
  },
  {
    id: 'send.absent',
    section: 'Errors',
    rule: 'A send to a number that is not on the network returns 422 recipient_not_on_whatsapp.',
    needs: ['full', 'absent-recipient'],
    async run(context) {
      const connectionId = await sendingConnection(context);
      const body = { connectionId, to: context.inputs.absentRecipient, text: 'Conformance check' };
      const exchange = await context.api.request('POST', '/messages', { body });
      if (exchange.status === 429) throw new Skip(`the service returned ${nameAnswer(exchange)}`);
      expectRefusal(exchange, { status: 422, code: 'recipient_not_on_whatsapp' });
    },
  },
  {
    id: 'send.cloud-api',
    section: 'What the service does, 2',
    rule: 'A cloud_api connection sends with the same shapes.',
    async run(context, probe) {
      const { id: connectionId } = await liveConnection(context, 'cloud_api');
      const idempotencyKey = randomUUID();
      const text = `Conformance check: cloud_api (${idempotencyKey.slice(0, 8)})`;
      const body = { connectionId, to: context.inputs.recipient, text, idempotencyKey };
      const exchange = await context.api.request('POST', '/messages', { body });
      skipUnusable(exchange);
      expectStatus(exchange, 200);
      demandShape(exchange, sendAnswer, probe);
    },
  },
  {
    id: 'send.status-rises',
    section: 'Message status ladder',
    rule: 'The status of a message never moves backwards while it is watched.',
    async run(context) {
      const id = messageIdOf((await sendText(context, 'its status')).exchange);
      const ladder = ['sent', 'delivered', 'read', 'failed'];
      const last = ladder.indexOf('read');
      let highest = -1;
      for (let reads = 0; reads < 5; reads++) {
        const status = String((await findMessage(context, id))?.fields['status']);
        const rank = ladder.indexOf(status);
        if (highest >= last && rank !== highest)
          throw new Violation(`${ladder[highest]}, which is final`, status);
        if (rank < highest) throw new Violation(`${ladder[highest]} or higher`, status);
        highest = rank;
      }
    },
  },
]);
