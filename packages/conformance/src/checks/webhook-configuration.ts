import { Skip, Violation } from '../../../certify/src/runner/check.ts';
import type { Exchange } from '../../../certify/src/runner/exchange.ts';
import { webhookBefore } from '../fixtures/webhook.ts';
import type { ServiceContext } from '../service/context.ts';
import { expectEqual, expectRefusal, fieldsOf, isObject, nameAnswer } from '../service/judge.ts';
import { inSection, type ServiceCheck } from '../service/service-check.ts';
import { shapeCheck } from '../service/shape-check.ts';
import { EVENT_NAMES, webhook } from '../service/spec-shapes.ts';

const SECTION = 'Rules per endpoint, 12 to 14';

/** URLs that no service may post to, by what is wrong with them. */
const REFUSED: Readonly<Record<string, { readonly what: string; readonly urls: readonly string[] }>> = {
  scheme: {
    what: 'that is not HTTPS',
    urls: ['http://hooks.example.com/in', 'ftp://hooks.example.com/in', 'file:///etc/passwd'],
  },
  loopback: {
    what: 'on this machine',
    urls: [
      'https://localhost/in',
      'https://hooks.localhost/in',
      'https://127.0.0.1/in',
      'https://127.8.9.10/in',
      'https://[::1]/in',
      'https://0.0.0.0/in',
      'https://[::]/in',
    ],
  },
  private: {
    what: 'in a private range',
    urls: [
      'https://10.0.0.1/in',
      'https://172.16.0.1/in',
      'https://172.31.255.254/in',
      'https://192.168.1.1/in',
      'https://169.254.169.254/in',
      'https://[fc00::1]/in',
      'https://[fd12:3456::1]/in',
      'https://[fe80::1]/in',
    ],
  },
  disguised: {
    what: 'with a private host in another notation',
    urls: [
      'https://127.1/in',
      'https://2130706433/in',
      'https://0x7f000001/in',
      'https://0177.0.0.1/in',
      'https://[::ffff:10.0.0.1]/in',
      'https://[::ffff:7f00:1]/in',
      'https://LOCALHOST./in',
    ],
  },
};

/** The URL and secret as returned by `GET /webhook`. */
function settingsOf(exchange: Exchange): unknown {
  const { url, secretSet } = fieldsOf(exchange);
  return [url ?? null, secretSet];
}

const isSet = (exchange: Exchange): boolean => typeof fieldsOf(exchange)['url'] === 'string';

/** A faulty service would accept the URL, so a webhook in use is put at risk only with consent. */
async function demandConsent(context: ServiceContext): Promise<void> {
  const before = await webhookBefore(context);
  if (isSet(before) && context.inputs.profile !== 'full') {
    throw new Skip('a faulty service would replace the webhook that is set', '--profile full');
  }
}

function refusing(kind: string, what: string, urls: readonly string[]): ServiceCheck {
  return {
    id: `webhook.put.refuses-${kind}`,
    section: SECTION,
    rule: `PUT /webhook returns 400 invalid_webhook for a URL ${what}.`,
    level: 'must',
    async run(context) {
      await demandConsent(context);
      for (const url of urls) {
        const exchange = await context.api.request('PUT', '/webhook', { body: { url } });
        expectRefusal(exchange, { status: 400, code: 'invalid_webhook' });
      }
    },
  };
}

/** Reading the webhook, and URLs that must be rejected. Implements `Webhook configuration`. */
export const webhookConfigurationChecks = inSection({ section: 'Webhook configuration' }, [
  shapeCheck({
    id: 'webhook.get.shape',
    rule: 'GET /webhook returns 200 with url, events and secretSet.',
    ask: webhookBefore,
    shape: webhook,
  }),
  {
    id: 'webhook.get.no-secret',
    rule: 'GET /webhook never returns the secret.',
    async run(context) {
      const exchange = await webhookBefore(context);
      if (isObject(exchange.json) && exchange.json['secret'] !== undefined) {
        throw new Violation('no secret', 'a field secret', exchange);
      }
    },
  },
  {
    id: 'webhook.get.events',
    rule: 'events names the four event types.',
    async run(context, probe) {
      const exchange = await webhookBefore(context);
      const { events } = fieldsOf(exchange);
      const found = Array.isArray(events) ? events.map(String) : [];
      // Which events a webhook has that is not set is not specified.
      if (found.length === 0 && !isSet(exchange)) throw new Skip('the account has no webhook');
      const missing = EVENT_NAMES.filter((name) => !found.includes(name));
      if (missing.length > 0) {
        throw new Violation(`all of ${EVENT_NAMES.join(', ')}`, found.join(', ') || 'none', exchange);
      }
      const further = found.filter((name) => !EVENT_NAMES.includes(name));
      if (further.length > 0) probe.note(`further events: ${further.join(', ')}`);
    },
  },
  {
    id: 'webhook.get.unset',
    rule: 'Before any PUT, url is null and secretSet false.',
    level: 'reading',
    async run(context) {
      const exchange = await webhookBefore(context);
      const { url, secretSet } = fieldsOf(exchange);
      if (typeof url === 'string') throw new Skip('the account has a webhook');
      expectEqual('url', null, url, exchange);
      expectEqual('secretSet', false, secretSet, exchange);
    },
  },
  ...Object.entries(REFUSED).map(([kind, { what, urls }]) => refusing(kind, what, urls)),
  {
    id: 'webhook.put.refuses-nonsense',
    section: SECTION,
    rule: 'PUT /webhook returns 400 for a value that is not a URL.',
    async run(context) {
      await demandConsent(context);
      for (const body of [{}, { url: 'not a URL' }, { url: 7 }, { url: '' }, { url: null }]) {
        const exchange = await context.api.request('PUT', '/webhook', { body });
        if (exchange.status !== 400) throw new Violation('status 400', nameAnswer(exchange), exchange);
      }
    },
  },
  {
    id: 'webhook.put.refuses-credentials',
    section: SECTION,
    rule: 'PUT /webhook returns 400 invalid_webhook for a URL with a user or a password.',
    level: 'reading',
    needs: ['full', 'webhook'],
    async run(context) {
      const url = 'https://user:word@hooks.example.com/in';
      const exchange = await context.api.request('PUT', '/webhook', { body: { url } });
      expectRefusal(exchange, { status: 400, code: 'invalid_webhook' });
    },
  },
  {
    id: 'webhook.put.refusal-changes-nothing',
    section: SECTION,
    rule: 'Rejected URLs leave the webhook unchanged.',
    async run(context) {
      await demandConsent(context);
      const before = await context.api.request('GET', '/webhook');
      for (const { urls } of Object.values(REFUSED)) {
        await context.api.request('PUT', '/webhook', { body: { url: urls[0] } });
      }
      const after = await context.api.request('GET', '/webhook');
      const expected = settingsOf(before);
      if (JSON.stringify(settingsOf(after)) !== JSON.stringify(expected)) {
        throw new Violation(JSON.stringify(expected), JSON.stringify(settingsOf(after)), after);
      }
    },
  },
  {
    id: 'webhook.rotate.unset',
    section: SECTION,
    rule: 'POST /webhook/rotate before any PUT returns 400 invalid_webhook.',
    level: 'reading',
    needs: ['full'],
    async run(context) {
      if (isSet(await webhookBefore(context))) throw new Skip('the account has a webhook');
      const exchange = await context.api.request('POST', '/webhook/rotate');
      expectRefusal(exchange, { status: 400, code: 'invalid_webhook' });
    },
  },
]);
