import { Skip } from '../../../certify/src/runner/check.ts';
import type { Exchange } from '../../../certify/src/runner/exchange.ts';
import { sendingConnection } from '../fixtures/connections.ts';
import { firstText, messageIdOf, SEND_TIMEOUT_MS } from '../fixtures/sends.ts';
import type { ServiceContext } from '../service/context.ts';
import {
  codeOf,
  expectEqual,
  expectRefusal,
  expectStatus,
  fieldsOf,
  nameAnswer,
  skipUnusable,
} from '../service/judge.ts';
import { inSection } from '../service/service-check.ts';
import { demandShape } from '../service/shape.ts';
import { readReceipt } from '../service/spec-shapes.ts';

const SENDING = { needs: ['full', 'recipient'], timeoutMs: SEND_TIMEOUT_MS } as const;

const markedOf = (exchange: Exchange): unknown => fieldsOf(exchange)['marked'];

async function markChat(context: ServiceContext): Promise<Exchange> {
  const connectionId = await sendingConnection(context);
  const body = { connectionId, phone: context.inputs.recipient };
  const exchange = await context.api.request('POST', '/messages/read', { body });
  skipUnusable(exchange);
  return exchange;
}

const markedChat = (context: ServiceContext): Promise<Exchange> =>
  context.once('a read receipt', () => markChat(context));

const MAX_REPEATS = 10;

/** Read receipts in the chat with the recipient. Implements `Rules per endpoint`, 11. */
export const receiptChecks = inSection({ section: 'Rules per endpoint, 11', ...SENDING }, [
  {
    id: 'receipts.shape',
    rule: 'A read receipt returns 200 with ok true and an integer marked.',
    async run(context, probe) {
      await firstText(context);
      const exchange = await markedChat(context);
      if (codeOf(exchange) === 'not_found') throw new Skip('there is no message from the recipient');
      expectStatus(exchange, 200);
      demandShape(exchange, readReceipt, probe);
    },
  },
  {
    id: 'receipts.repeat',
    rule: 'A read receipt can be repeated: it returns 200 each time.',
    async run(context) {
      const first = await markedChat(context);
      if (first.status !== 200) throw new Skip(`the first returned ${nameAnswer(first)}`);
      expectStatus(await markChat(context), 200);
    },
  },
  {
    id: 'receipts.repeat.marked',
    rule: 'marked counts what this call marked as read: 0 if there was nothing new.',
    level: 'reading',
    async run(context) {
      const first = await markChat(context);
      if (first.status !== 200) throw new Skip(`the first returned ${nameAnswer(first)}`);
      // The recipient may write in between, but not every time.
      for (let repeats = 1; ; repeats++) {
        const exchange = await markChat(context);
        if (markedOf(exchange) === 0) return;
        if (repeats === MAX_REPEATS) expectEqual('marked', 0, markedOf(exchange), exchange);
      }
    },
  },
  {
    id: 'receipts.outgoing',
    rule: 'A messageId of an outgoing message returns 404 not_found.',
    level: 'reading',
    async run(context) {
      const sent = await firstText(context);
      const body = { connectionId: sent.connectionId, messageId: messageIdOf(sent.exchange) };
      const exchange = await context.api.request('POST', '/messages/read', { body });
      expectRefusal(exchange, { status: 404, code: 'not_found' });
    },
  },
]);
