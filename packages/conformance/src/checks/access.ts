import { Violation } from '../../../certify/src/runner/check.ts';
import type { Exchange } from '../../../certify/src/runner/exchange.ts';
import { readConnections } from '../fixtures/connections.ts';
import { askPage, readPage } from '../fixtures/messages.ts';
import { deleteLater, idOf, LABEL } from '../fixtures/own-connections.ts';
import { SEND_TIMEOUT_MS } from '../fixtures/sends.ts';
import type { ServiceContext } from '../service/context.ts';
import { codeOf, expectEqual, expectRefusal, expectStatus, nameAnswer } from '../service/judge.ts';
import { HARMLESS, NO_PHONE } from '../service/requests.ts';
import { inSection } from '../service/service-check.ts';

const LAPSED = ['addon_required', 'license_inactive'];
const SPOOFS = ['127.0.0.1', '10.0.0.1', '::1'];

function askBarred(context: ServiceContext, path: string, headers: Readonly<Record<string, string>> = {}) {
  const authorization = `Bearer ${context.inputs.barredApiKey ?? ''}`;
  const client = context.clientFor({ as: 'key that is barred here', authorization });
  return client.request('GET', path, { headers });
}

/** @throws Violation unless the response is a 402 with one of its codes */
function expectLapsed(exchange: Exchange): void {
  if (exchange.status !== 402 || !LAPSED.includes(codeOf(exchange) ?? '')) {
    throw new Violation(`402 ${LAPSED.join(' or ')}`, nameAnswer(exchange), exchange);
  }
}

const idOfLapsed = ({ inputs }: ServiceContext): string => inputs.lapsedConnectionId ?? '';

/**
 * Addresses, kinds of workspaces and licenses. Implements `API keys` and `What the service does`, 3 and 4.
 */
export const accessChecks = inSection({ section: 'What the service does, 4', needs: ['lapsed-connection'] }, [
  {
    id: 'address.refused',
    section: 'API keys',
    rule: "A call from an address that is not on the key's allowlist returns 403 ip_not_allowed.",
    needs: ['barred-key'],
    async run(context) {
      for (const { path } of HARMLESS.filter(({ method }) => method === 'GET')) {
        expectRefusal(await askBarred(context, path), { status: 403, code: 'ip_not_allowed' });
      }
    },
  },
  {
    id: 'address.forwarded',
    section: 'API keys',
    rule: 'An address that the caller merely claims does not count.',
    level: 'reading',
    needs: ['barred-key'],
    async run(context) {
      for (const claimed of SPOOFS) {
        const headers = { 'x-forwarded-for': claimed, 'x-real-ip': claimed, forwarded: `for=${claimed}` };
        const exchange = await askBarred(context, '/connections', headers);
        expectRefusal(exchange, { status: 403, code: 'ip_not_allowed' });
      }
    },
  },
  {
    id: 'portal.create',
    section: 'What the service does, 3',
    rule: 'In a portal-owned workspace POST /connections returns 403 forbidden_portal_kind.',
    needs: ['full', 'portal-key'],
    async run(context) {
      const authorization = `Bearer ${context.inputs.portalApiKey ?? ''}`;
      const client = context.clientFor({ as: 'key of a portal', authorization });
      const exchange = await client.request('POST', '/connections', { body: { label: LABEL } });
      if (exchange.status < 300) deleteLater(context, client, idOf(exchange));
      expectRefusal(exchange, { status: 403, code: 'forbidden_portal_kind' });
    },
  },
  {
    id: 'license.hidden',
    rule: 'A connection whose license or add-on has lapsed is not listed.',
    async run(context) {
      const exchange = await context.api.request('GET', '/connections');
      expectStatus(exchange, 200);
      if (readConnections(exchange).some(({ id }) => id === idOfLapsed(context))) {
        throw new Violation(`a list without ${idOfLapsed(context)}`, 'it is listed', exchange);
      }
    },
  },
  {
    id: 'license.send',
    rule: 'A send from a connection whose license has lapsed returns 402.',
    needs: ['full', 'lapsed-connection', 'recipient'],
    timeoutMs: SEND_TIMEOUT_MS,
    async run(context) {
      const { recipient: to } = context.inputs;
      const body = { connectionId: idOfLapsed(context), to, text: 'Conformance check: not to be sent' };
      expectLapsed(await context.api.request('POST', '/messages', { body }));
    },
  },
  {
    id: 'license.messages',
    rule: 'The messages of a connection whose license has lapsed are an empty page.',
    level: 'reading',
    async run(context) {
      const exchange = await askPage(context, `connectionId=${encodeURIComponent(idOfLapsed(context))}`);
      expectStatus(exchange, 200);
      expectEqual('messages', 0, readPage(exchange).messages.length, exchange);
    },
  },
  {
    id: 'license.receipts',
    section: 'Errors',
    rule: 'A read receipt on a connection whose license has lapsed returns 402.',
    level: 'reading',
    async run(context) {
      const body = { connectionId: idOfLapsed(context), phone: NO_PHONE };
      expectLapsed(await context.api.request('POST', '/messages/read', { body }));
    },
  },
  {
    id: 'license.detail',
    rule: 'The detail of a connection whose license has lapsed can still be read.',
    level: 'reading',
    async run(context) {
      const exchange = await context.api.request('GET', `/connections/${idOfLapsed(context)}`);
      expectStatus(exchange, 200);
    },
  },
]);
