import type { Scope } from '../../../contract/service/scopes.ts';
import { isRefusal } from '../../service-client/service-errors.ts';
import { readUses } from '../../state/figures.ts';
import type { ServiceCheckInput } from '../check-input.ts';
import { type Check, notChecked, ok, problem } from '../finding.ts';
import { howToConsent, inPortal } from '../places.ts';
import type { Asked } from '../service-calls.ts';

/** A deployment that sent or created nothing in this time does not need the scope. */
const LATELY_MS = 30 * 24 * 3_600_000;

/** What does not work without each scope. */
const WITHOUT: Readonly<Record<Scope, string>> = {
  'messaging.read': 'nothing can be polled',
  'messaging.send': 'POST /v1/messages and POST /v1/read-receipts are refused by the service',
  'messaging.events':
    'the connector can neither register its webhook nor rotate its secret, and an app receives no events',
  'messaging.manage': 'connections can be neither created, paired, restarted, logged out nor deleted',
};

/** The credential has every scope that this deployment uses. */
export const scopesCheck: Check<ServiceCheckInput> = {
  id: 'scopes',
  title: 'scopes of the credential',
  async run(input) {
    const { service, account, settings } = input;
    const carried: readonly (readonly [Scope, boolean | null])[] = [
      ['messaging.read', isAllowed(await service.connections())],
      ['messaging.send', await service.maySend()],
      ['messaging.events', isAllowed(await service.webhook())],
      ['messaging.manage', await service.mayManage()],
    ];
    const missing = carried.filter(([, has]) => has === false).map(([scope]) => scope);
    const unknown = carried.filter(([, has]) => has === null).map(([scope]) => scope);
    const without = missing.map((scope) => `Without ${scope}, ${WITHOUT[scope]}.`);
    const uses = missing.length === 0 ? {} : await describeUses(input);
    const needed = missing.filter((scope) => uses[scope] !== undefined);
    if (needed.length > 0) {
      return problem(`The credential lacks ${needed.join(', ')}, which this deployment needs.`, {
        evidence: [...needed.map((scope) => `${scope}: ${uses[scope]}`), ...without],
        advice: [
          account.kind === 'oauth'
            ? `A new consent to these scopes is required. ${howToConsent(account.id)}`
            : `Add ${needed.join(', ')} to the key ${inPortal(settings, 'PATCH /api-keys/{id}')}. The change applies from the next call on.`,
        ],
      });
    }
    if (unknown.length > 0)
      return notChecked(`The service did not show whether the credential has ${unknown.join(', ')}.`);
    if (missing.length > 0)
      return ok('The credential has every scope that is in use.', { evidence: without });
    return ok('The credential has every scope.');
  },
};

/** What this deployment uses each scope for. */
async function describeUses({
  account,
  settings,
  database,
  clock,
}: ServiceCheckInput): Promise<Readonly<Partial<Record<Scope, string>>>> {
  const since = clock.now() - LATELY_MS;
  const used = database === null ? undefined : await readUses(database, account.id, since);
  const registers = account.kind === 'api_key' && account.webhookUrl !== null;
  const awaitsEvents = account.kind === 'oauth' && settings.namesAppWebhookSecret === true;
  return {
    'messaging.read': 'every account is polled.',
    ...(registers ? { 'messaging.events': 'WEBHOOK_PUBLIC_URL is set.' } : {}),
    ...(awaitsEvents ? { 'messaging.events': 'SERVICE_CLIENT_WEBHOOK_SECRET is set.' } : {}),
    ...(used?.sends === true ? { 'messaging.send': 'the CRM sent something within 30 days.' } : {}),
    ...(used?.creates === true ? { 'messaging.manage': 'the CRM created a connection within 30 days.' } : {}),
  };
}

function isAllowed(asked: Asked<unknown>): boolean | null {
  if (asked.ok) return true;
  return isRefusal(asked.error, 'insufficient_scope') ? false : null;
}
