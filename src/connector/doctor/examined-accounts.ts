import type { Queryable } from '../../runtime/database/database.ts';
import { createKeyRing } from '../../runtime/sealing/key-ring.ts';
import {
  FIRST_ACCOUNT_ID,
  FIRST_SUBSCRIPTION_ID,
  openCredential,
  readAccounts,
} from '../accounts/account-store.ts';
import { webhookUrl } from '../accounts/registrations.ts';
import type { DoctorSettings, ExaminedAccount } from './facts.ts';

/** More are not asked about one by one. */
const MOST = 50;

/** An account with its credential, or why there is none to ask the service with. */
export interface AccountToExamine {
  readonly account: ExaminedAccount;
  readonly apiKey: string | null;
  readonly whyNone: string;
}

/**
 * The accounts that are looked at: those of the database, and the one of the settings, with the key that the
 * settings name now. Throws as `query` does.
 */
export async function listAccountsToExamine(
  settings: DoctorSettings,
  database: Queryable | null,
): Promise<{ readonly accounts: readonly AccountToExamine[]; readonly left: number }> {
  const { service, webhookPublicUrl } = settings;
  const urlOf = (subscriptionId: string): string | null =>
    webhookPublicUrl === undefined ? null : webhookUrl(webhookPublicUrl, subscriptionId);
  const accounts: AccountToExamine[] = [];
  if (service !== undefined) {
    accounts.push({
      account: {
        id: FIRST_ACCOUNT_ID,
        subscriptionId: FIRST_SUBSCRIPTION_ID,
        baseUrl: service.baseUrl,
        webhookUrl: urlOf(FIRST_SUBSCRIPTION_ID),
        configured: true,
      },
      apiKey: service.apiKey,
      whyNone: '',
    });
  }
  const stored = database === null ? [] : await readAccounts(database);
  const others = stored.filter(({ id }) => service === undefined || id !== FIRST_ACCOUNT_ID);
  for (const { id, subscriptionId, baseUrl, kind } of others.slice(0, MOST)) {
    accounts.push({
      account: { id, subscriptionId, baseUrl, configured: false, webhookUrl: urlOf(subscriptionId) },
      ...(database === null || kind !== 'api_key'
        ? { apiKey: null, whyNone: 'Its grant is not an API key.' }
        : await openKey(database, settings, id)),
    });
  }
  return { accounts, left: Math.max(0, others.length - MOST) };
}

async function openKey(
  database: Queryable,
  settings: DoctorSettings,
  id: string,
): Promise<Pick<AccountToExamine, 'apiKey' | 'whyNone'>> {
  if (settings.sealingKeys.length === 0)
    return { apiKey: null, whyNone: 'CONNECTOR_SEALING_KEYS is missing.' };
  try {
    const apiKey = await openCredential(database, createKeyRing(settings.sealingKeys), id);
    return { apiKey, whyNone: 'The account has no credential.' };
  } catch {
    return { apiKey: null, whyNone: 'Its stored credential does not open; see the sealing keys.' };
  }
}
