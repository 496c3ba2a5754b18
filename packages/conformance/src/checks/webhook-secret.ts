import { Violation } from '../../../certify/src/runner/check.ts';
import { rotateWebhook, secretOf, setWebhook, setWebhookAgain, webhookBefore } from '../fixtures/webhook.ts';
import { expectEqual, expectStatus, fieldsOf } from '../service/judge.ts';
import { inSection } from '../service/service-check.ts';
import { demandShape } from '../service/shape.ts';
import { EVENT_NAMES, webhookRotated, webhookSet } from '../service/spec-shapes.ts';

const SECTION = 'Rules per endpoint, 12 to 14';
const NEEDS = ['full', 'webhook'] as const;

/** Setting the webhook and its secret. Implements `Webhook configuration`. */
export const webhookSecretChecks = inSection({ section: SECTION, needs: NEEDS }, [
  {
    id: 'webhook.put.shape',
    rule: 'PUT /webhook returns 200 with url, the four events and a secret.',
    async run(context, probe) {
      const { url } = fieldsOf(await webhookBefore(context));
      probe.note(`the webhook was ${typeof url === 'string' ? url : 'not set'}; set it again afterwards`);
      const exchange = await setWebhook(context);
      expectStatus(exchange, 200);
      demandShape(exchange, webhookSet, probe);
      const answer = fieldsOf(exchange);
      expectEqual('url', context.inputs.webhookUrl, answer['url'], exchange);
      const events = Array.isArray(answer['events']) ? answer['events'].map(String) : [];
      const missing = EVENT_NAMES.filter((name) => !events.includes(name));
      if (missing.length > 0) throw new Violation(`events with ${missing.join(', ')}`, events.join(', '));
    },
  },
  {
    id: 'webhook.put.then-get',
    section: 'Webhook configuration',
    rule: 'After a PUT, GET /webhook returns the URL, secretSet true and no secret.',
    async run(context) {
      const secret = secretOf(context, await setWebhook(context));
      const exchange = await context.api.request('GET', '/webhook');
      expectStatus(exchange, 200);
      const answer = fieldsOf(exchange);
      expectEqual('url', context.inputs.webhookUrl, answer['url'], exchange);
      expectEqual('secretSet', true, answer['secretSet'], exchange);
      if (exchange.text.includes(secret)) throw new Violation('no secret', 'the secret', exchange);
    },
  },
  {
    id: 'webhook.put.new-secret',
    rule: 'A PUT with the current URL issues a new secret.',
    level: 'reading',
    async run(context) {
      const first = secretOf(context, await setWebhook(context));
      const exchange = await setWebhookAgain(context);
      if ([first].includes(secretOf(context, exchange))) {
        throw new Violation('a different secret', 'the same secret', exchange);
      }
    },
  },
]);

/** Rotation. Implements `Rules per endpoint`, 14. */
export const webhookRotationChecks = inSection({ section: SECTION, needs: NEEDS }, [
  {
    id: 'webhook.rotate.shape',
    rule: 'POST /webhook/rotate returns 200 with a different secret.',
    async run(context, probe) {
      const old = secretOf(context, await setWebhookAgain(context));
      const exchange = await rotateWebhook(context);
      expectStatus(exchange, 200);
      demandShape(exchange, webhookRotated, probe);
      if ([old].includes(secretOf(context, exchange))) {
        throw new Violation('a different secret', 'the same secret', exchange);
      }
    },
  },
  {
    id: 'webhook.rotate.keeps-address',
    rule: 'A rotation leaves the URL unchanged.',
    async run(context) {
      await rotateWebhook(context);
      const exchange = await context.api.request('GET', '/webhook');
      const answer = fieldsOf(exchange);
      expectEqual('url', context.inputs.webhookUrl, answer['url'], exchange);
    },
  },
]);
