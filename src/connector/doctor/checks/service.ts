import { and, isNotNull, ne } from 'drizzle-orm';
import type { Queryable } from '../../../runtime/database/database.ts';
import { isAnyOf, orm } from '../../../runtime/database/orm.ts';
import { connections } from '../../db/schema.ts';
import { ServiceRefusal, ServiceUnreachable } from '../../service-client/service-errors.ts';
import { count, span } from '../../state/wording.ts';
import type { DoctorSettings, ExaminedAccount, ServiceCheckInput } from '../check-input.ts';
import { explainUnreachable } from '../explain-unreachable.ts';
import { type Check, type Finding, ok, problem, warning } from '../finding.ts';
import { howToConsent, inPortal } from '../places.ts';

const SLOW_MS = 5_000;
/** Maximum number of connections that are named. */
const MAX_SHOWN = 10;

/** The service can be reached and accepts the credential. */
export const serviceCheck: Check<ServiceCheckInput> = {
  id: 'service',
  title: 'the service answers',
  async run({ account, service, settings, database }) {
    const asked = await service.connections();
    if (!asked.ok) return explainFailure(asked.error, account, settings);
    const evidence = [
      `GET /connections answered in ${span(asked.ms)} with ${count(asked.value.items.length, 'connection')}.`,
    ];
    const elsewhere = await findShownElsewhere(database, account.id, asked.value.items);
    if (elsewhere.length > 0) {
      return warning(
        'The list has connections that another account shows, so this account gets nothing of them.',
        {
          evidence: [...evidence, ...elsewhere],
          advice: [
            'If the other account is not needed, remove it (DELETE /v1/accounts/{id}): this one then takes them over.',
          ],
        },
      );
    }
    return asked.ms > SLOW_MS
      ? warning('The service answers slowly.', {
          evidence,
          advice: [
            'Run the doctor again later. If the service stays slow, check the network between this machine and the service.',
          ],
        })
      : ok('The service answers and accepts the credential.', { evidence });
  },
};

/** The listed connections that another account shows, each with that account. */
async function findShownElsewhere(
  database: Queryable | null,
  accountId: string,
  listed: readonly { readonly id: string }[],
): Promise<string[]> {
  if (database === null) return [];
  const { connectionId, accountId: owner, visible, listedAt } = connections;
  const ids = listed.map(({ id }) => id);
  const rows = await orm(database)
    .select({ connectionId, owner })
    .from(connections)
    .where(and(isAnyOf(connectionId, ids), ne(owner, accountId), visible, isNotNull(listedAt)))
    .orderBy(connectionId)
    .limit(MAX_SHOWN);
  return rows.map((row) => `${row.connectionId} belongs to account ${row.owner}.`);
}

/** No other call can succeed: the service does not answer, or it refuses the credential. */
const UNUSABLE = 'service_unusable';

function explainFailure(
  error: unknown,
  { id, kind, configured, ...account }: ExaminedAccount,
  settings: DoctorSettings,
): Finding {
  const baseUrl = account.baseUrl ?? '';
  const place = configured || kind === 'oauth' ? 'SERVICE_BASE_URL' : 'baseUrl of the account';
  if (error instanceof ServiceUnreachable) {
    const { says, advice } = explainUnreachable(error, URL.parse(baseUrl)?.host ?? 'the service');
    return problem(says, {
      evidence: [`${place} is ${baseUrl}.`],
      advice: [advice],
      code: UNUSABLE,
    });
  }
  if (!(error instanceof ServiceRefusal)) {
    return problem('The answer cannot be read, so it does not come from the service.', {
      evidence: [`GET ${baseUrl}/connections`],
      advice: [`Check ${place}: it must end in /api/v1 and must not lead to a page of a proxy.`],
      code: UNUSABLE,
    });
  }
  const evidence = [`GET /connections was answered with ${error.status} ${error.code}.`];
  switch (error.code) {
    case 'invalid_key':
      if (kind === 'oauth') {
        return problem('The service refuses the access token.', {
          evidence,
          advice: ['A worker refreshes it. If that fails, the check polls asks for a new consent.'],
          code: UNUSABLE,
        });
      }
      return problem('The service refuses the API key: it is unknown or was revoked.', {
        evidence,
        advice: [
          `Create a new key ${inPortal(settings, 'POST /workspaces/{id}/api-keys')}, ${
            configured
              ? 'set SERVICE_API_KEY to it and restart the connector'
              : `remove the account (DELETE /v1/accounts/${id}) and add it with the key; its messages are kept`
          }.`,
          'Until then, sends wait. The first poll with a valid key catches up.',
        ],
        code: UNUSABLE,
      });
    case 'ip_not_allowed':
      return problem('The address of this machine is not on the allowlist of the API key.', {
        evidence,
        advice: [
          `Add the public address of this machine to the key ${inPortal(settings, 'PATCH /api-keys/{id}')}.`,
          'Behind a proxy or NAT, that is its address. Every connector process needs such an entry.',
        ],
        code: UNUSABLE,
      });
    case 'insufficient_scope':
      return problem('The credential lacks the scope messaging.read, so nothing can be polled.', {
        evidence,
        advice: [
          kind === 'oauth'
            ? `A new consent to this scope is required. ${howToConsent(id)}`
            : `Add the scope messaging.read to the key ${inPortal(settings, 'PATCH /api-keys/{id}')}. The change applies from the next call on.`,
        ],
      });
    case 'rate_limited':
      return warning('The service refuses calls for now, because too many were made.', {
        evidence,
        advice: ['No action is needed now. If it continues, check what else uses this key.'],
      });
    default:
      return explainStatus(error, evidence, place, baseUrl);
  }
}

function explainStatus(
  { status }: ServiceRefusal,
  evidence: string[],
  place: string,
  baseUrl: string,
): Finding {
  if (status >= 500) {
    return problem('The service, or a proxy in front of it, fails.', {
      evidence,
      advice: [
        'Wait, or contact its operators: the cause is not on this machine. Polling catches up afterwards.',
      ],
      code: UNUSABLE,
    });
  }
  return problem('The service refuses the call.', {
    evidence: [...evidence, `${place} is ${baseUrl}.`],
    advice: [`Check ${place}: it must be the complete base address, including /api/v1.`],
    code: UNUSABLE,
  });
}
