import { Skip } from '../../runner/check.ts';
import { entriesOf, type IntegrationContext, type Mark, type RecordedCall, violate } from '../context.ts';
import { type BareCheck, inSection, TIMEOUT_MS } from '../integration-check.ts';

const SECTION = 'Rules per endpoint, 10';
/** How long an integration may take to begin with a send, or to repeat it. */
const BEGINS_MS = 30_000;
const REPEATS_MS = 90_000;
/** How long nothing may happen after a final answer. */
const QUIET_MS = 15_000;
const RETRY_AFTER_S = 12;
const WAITS_MS = 150_000;
const ROUNDED_MS = 5_000;

const MESSAGES = { surface: 'api', method: 'POST', path: '/messages' } as const;
type Calls = readonly RecordedCall[];

/** Has the integration send while one fault is active; resolves once the first call was answered. */
async function sendOnce(
  context: IntegrationContext,
  action?: object,
): Promise<{ readonly to: string; readonly mark: Mark }> {
  if (action !== undefined) await context.fault({ match: MESSAGES, action, first: 1 });
  const since = await context.mark();
  const to = await context.send();
  // An earlier message may still be repeated.
  const mark = since.about(to);
  const begun = await mark.until('POST', '/messages', (calls) => calls.length > 0, BEGINS_MS);
  if (begun === undefined)
    throw new Skip('the integration made no POST /messages within 30 s of the command');
  return { to, mark };
}

/** @throws Violation if a send is repeated although its answer is final */
async function demandFinal(context: IntegrationContext, mark: Mark, answer: string): Promise<void> {
  await context.sleep(QUIET_MS);
  const calls = await mark.calls('POST', '/messages');
  if (calls.length > 1) violate(`no retry after ${answer}`, `${calls.length} calls`, calls);
}

const POLICY = 'src/patterns/send-policy.ts has a rule for each code.';
const AGAIN = `Keep the message, and try again with the same key. ${POLICY}`;

async function demandRepeat(mark: Mark, after: string): Promise<Calls> {
  const calls = await mark.until('POST', '/messages', (all) => all.length > 1, REPEATS_MS);
  if (calls !== undefined) return calls;
  return violate(`a retry after ${after}`, 'none within 90 s', await mark.calls('POST', '/messages'), AGAIN);
}

/** A send whose first answer is final. */
function final(id: string, rule: string, answer: string, action: object, hint: string): BareCheck {
  return {
    id,
    section: 'Errors',
    rule,
    needs: ['send'],
    hint,
    async run(context) {
      const { mark } = await sendOnce(context, action);
      await demandFinal(context, mark, answer);
    },
  };
}

/** It stops an integration permanently, so it comes last. */
export const refusedKeyChecks = inSection('Errors', [
  {
    id: 'send.key-refused',
    section: 'Errors',
    rule: 'A call that is refused with 401 invalid_key is not repeated in a loop.',
    needs: ['send'],
    hint: `The credential is the problem, not the send: hold all sends until it has been replaced. ${POLICY}`,
    async run(context) {
      await context.fault({ match: MESSAGES, action: { type: 'status', code: 401, error: 'invalid_key' } });
      const { mark } = await sendOnce(context);
      await context.sleep(QUIET_MS);
      const calls = await mark.calls('POST', '/messages');
      // After a refresh, an OAuth client tries once more. A retry of an earlier check may be on its way.
      if (calls.filter(({ status }) => status === 401).length > 2)
        violate('no loop', `${calls.length} calls`, calls);
    },
  },
]);

/** How an integration sends, and what it makes of the answer. Implements `POST /messages` and `Errors`. */
export const sendChecks = inSection(SECTION, [
  {
    id: 'send.key',
    rule: 'A send whose answer was lost is repeated with the same idempotencyKey: the person gets one message.',
    needs: ['send'],
    hint: 'Create the key once per message, store it before the first attempt, and send it with each attempt: src/patterns/send-policy.ts.',
    async run(context) {
      const { to, mark } = await sendOnce(context, { type: 'lost_answer' });
      await demandRepeat(mark, 'a lost answer');
      await context.sleep(2_000);
      const got = entriesOf(await context.control('GET', `/contacts/${to}/messages`));
      if (got.length !== 1)
        violate('one message on the phone', `${got.length}`, await mark.calls('POST', '/messages'));
    },
  },
  {
    ...final(
      'send.not-persisted',
      'A send that was delivered but not stored (200 with persisted false) is not repeated.',
      '200 with persisted false',
      { type: 'not_persisted' },
      `messageId is null in this case, and the message is on the phone: never send it again. ${POLICY}`,
    ),
    section: SECTION,
  },
  final(
    'send.license',
    'A send that was refused with 402 is not repeated.',
    '402',
    { type: 'status', code: 402, error: 'license_inactive' },
    `Someone must pay first: show it, and stop. ${POLICY}`,
  ),
  final(
    'send.absent',
    'A send that was refused with 422 recipient_not_on_whatsapp is not repeated.',
    '422',
    { type: 'status', code: 422, error: 'recipient_not_on_whatsapp' },
    `This is permanent for the number. ${POLICY}`,
  ),
  {
    id: 'send.retry-after',
    section: 'Errors',
    rule: 'After 429 with Retry-After, a send is repeated, but not before that time.',
    needs: ['send'],
    hint: `Wait as long as Retry-After says before the next attempt, and at least a second. ${POLICY}`,
    async run(context) {
      const limited = { type: 'status', code: 429, error: 'rate_limited', retryAfter: RETRY_AFTER_S };
      const { mark } = await sendOnce(context, limited);
      const calls = await demandRepeat(mark, `429 with Retry-After: ${RETRY_AFTER_S}`);
      const [first, second] = calls;
      const waited = (second?.at ?? 0) - (first?.at ?? 0);
      if (waited < RETRY_AFTER_S * 1_000 - 500)
        violate(`${RETRY_AFTER_S} s`, `a retry after ${(waited / 1_000).toFixed(1)} s`, calls);
    },
  },
  {
    id: 'send.failed',
    section: 'Errors',
    rule: 'A send that failed with 502 send_failed is repeated after a short delay.',
    needs: ['send'],
    hint: AGAIN,
    async run(context) {
      const { mark } = await sendOnce(context, { type: 'status', code: 502, error: 'send_failed' });
      await demandRepeat(mark, '502 send_failed');
    },
  },
  {
    id: 'send.waits',
    section: 'Limits',
    rule: 'A client waits at least 180 s for the answer to a send.',
    needs: ['send', 'patience'],
    timeoutMs: WAITS_MS + TIMEOUT_MS,
    hint: 'A session that heals itself takes up to 2.5 minutes. Set the timeout of POST /messages to 180 s or more.',
    async run(context) {
      await context.fault({ match: MESSAGES, action: { type: 'delay', ms: WAITS_MS }, first: 1 });
      const mark = await context.mark();
      const began = context.clock.elapsed();
      const to = await context.send();
      // A call is in the list when it was answered.
      const calls = await mark.until('POST', '/messages', (all) => all.length > 0, WAITS_MS + BEGINS_MS);
      if (calls === undefined) throw new Skip('the integration made no POST /messages');
      if (context.clock.elapsed() - began < WAITS_MS - ROUNDED_MS)
        violate('one call', 'another call before the first was answered', calls);
      const got = entriesOf(await context.control('GET', `/contacts/${to}/messages`));
      if (calls[0]?.status !== 200 || got.length !== 1)
        violate('one call that is answered with 200', 'a call that was given up', calls);
    },
  },
]);
