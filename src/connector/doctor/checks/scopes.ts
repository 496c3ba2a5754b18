import { SCOPE_MEANINGS, type Scope } from '../../../contract/service/scopes.ts';
import { isRefusal } from '../../service-client/service-errors.ts';
import type { ServiceFacts } from '../facts.ts';
import { type Check, notChecked, ok, problem, warning } from '../finding.ts';
import type { Asked, ServiceCalls } from '../service-calls.ts';
import { howToConsent, inPortal } from '../wording.ts';

/** The credential carries every scope that the connector uses. Implements `Scopes`. */
export const scopes: Check<ServiceFacts> = {
  id: 'scopes',
  title: 'scopes of the credential',
  async look({ service, account, settings }) {
    const carried = await askForEach(service);
    const missing = carried.filter(([, has]) => has === false).map(([scope]) => scope);
    const unknown = carried.filter(([, has]) => has === null).map(([scope]) => scope);
    const evidence = missing.map((scope) => `${scope} is missing. It is for: ${SCOPE_MEANINGS[scope]}`);
    if (missing.length > 0) {
      const tellMore = missing.includes('messaging.read') || missing.includes('messaging.events');
      const advice = [
        account.kind === 'oauth'
          ? `If the app needs it, it takes a new consent to all of its scopes. ${howToConsent(account.id)}`
          : `Give the key ${missing.join(', ')} ${inPortal(settings, 'PATCH /api-keys/{id}')}; it counts from the next call on.`,
      ];
      return (tellMore ? problem : warning)(`The credential lacks ${missing.join(', ')}.`, {
        evidence,
        advice,
      });
    }
    if (unknown.length > 0) return notChecked(`Nothing was learned of ${unknown.join(', ')}.`);
    return ok('The credential carries every scope.');
  },
};

async function askForEach(service: ServiceCalls): Promise<(readonly [Scope, boolean | null])[]> {
  return [
    ['messaging.read', isAllowed(await service.connections())],
    ['messaging.send', await service.maySend()],
    ['messaging.events', isAllowed(await service.webhook())],
    ['messaging.manage', await service.mayManage()],
  ];
}

function isAllowed(asked: Asked<unknown>): boolean | null {
  if (asked.ok) return true;
  return isRefusal(asked.error, 'insufficient_scope') ? false : null;
}
