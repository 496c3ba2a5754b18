import type { Queryable } from '../../runtime/database/database.ts';
import { createKeyRing } from '../../runtime/sealing/key-ring.ts';
import { FIRST_ACCOUNT_ID, openCredential, readAccounts } from '../accounts/account-store.ts';
import { webhookUrl } from '../accounts/registrations.ts';
import { FIRST_SUBSCRIPTION_ID } from '../accounts/subscription-secrets.ts';
import { openTokens, readGrant } from '../oauth/grant-store.ts';
import type { DoctorSettings, ExaminedAccount } from './check-input.ts';

/** Maximum number of accounts that are checked. */
const MAX = 50;

/** An account with its credential, or why there is none to call the service with. */
export interface AccountToExamine {
  readonly account: ExaminedAccount;
  readonly apiKey: string | null;
  readonly whyNone: string;
}

/**
 * The accounts to check: those of the database, and the one of the settings with its current key. Throws as
 * `query` does.
 */
export async function listAccountsToExamine(
  settings: DoctorSettings,
  database: Queryable | null,
  now: number,
): Promise<{ readonly accounts: readonly AccountToExamine[]; readonly left: number }> {
  const { service, webhookPublicUrl } = settings;
  const urlOf = (subscriptionId: string): string | null =>
    webhookPublicUrl === undefined ? null : webhookUrl(webhookPublicUrl, subscriptionId);
  const accounts: AccountToExamine[] = [];
  if (service !== undefined) {
    accounts.push({
      account: {
        id: FIRST_ACCOUNT_ID,
        kind: 'api_key',
        subscriptionId: FIRST_SUBSCRIPTION_ID,
        baseUrl: service.baseUrl,
        webhookUrl: urlOf(FIRST_SUBSCRIPTION_ID),
        configured: true,
      },
      apiKey: service.apiKey,
      whyNone: '',
    });
  }
  if (database === null) return { accounts, left: 0 };
  const stored = await readAccounts(database);
  const others = stored.filter(({ id }) => service === undefined || id !== FIRST_ACCOUNT_ID);
  for (const { id, subscriptionId, baseUrl, kind } of others.slice(0, MAX)) {
    accounts.push({
      account: { id, kind, subscriptionId, baseUrl, configured: false, webhookUrl: urlOf(subscriptionId) },
      ...(await openStored(database, settings, { id, kind }, now)),
    });
  }
  return { accounts, left: Math.max(0, others.length - MAX) };
}

type Opened = Pick<AccountToExamine, 'apiKey' | 'whyNone'>;

/** The doctor changes nothing, so it refreshes no token. */
async function openStored(
  database: Queryable,
  { sealingKeys }: DoctorSettings,
  { id, kind }: Pick<ExaminedAccount, 'id' | 'kind'>,
  now: number,
): Promise<Opened> {
  const none = (whyNone: string): Opened => ({ apiKey: null, whyNone });
  if (sealingKeys.length === 0) return none('CONNECTOR_SEALING_KEYS is missing.');
  try {
    const keyRing = createKeyRing(sealingKeys);
    if (kind !== 'oauth') {
      return {
        apiKey: await openCredential(database, keyRing, id),
        whyNone: 'The account has no credential.',
      };
    }
    const grant = await readGrant(database, id);
    if (grant === null || grant.endedAt !== null) return none('Its grant has ended.');
    const { accessToken, expiresAt } = await openTokens(keyRing, grant);
    return expiresAt === null || expiresAt > now
      ? { apiKey: accessToken, whyNone: '' }
      : none('Its access token has expired; a worker refreshes it.');
  } catch {
    return none('Its stored credential cannot be opened; see the check sealing.');
  }
}
