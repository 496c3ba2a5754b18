import { FIRST_ACCOUNT_ID, findByKey, readAccounts } from '../../accounts/account-store.ts';
import type { StoreCheckInput } from '../check-input.ts';
import { type Check, notChecked, ok, problem, warning } from '../finding.ts';

/** The stored account is that of the settings. A change of the settings requires a restart. */
export const accountCheck: Check<StoreCheckInput> = {
  id: 'account',
  title: 'account in the settings',
  async run({ settings, database }) {
    const accounts = await readAccounts(database);
    const { service } = settings;
    if (service === undefined) {
      return accounts.length > 0
        ? ok(
            `SERVICE_API_KEY is not set; ${accounts.length === 1 ? 'one account is' : `${accounts.length} accounts are`} stored.`,
          )
        : warning('There is no account, so nothing is polled and no webhook is registered.', {
            advice: [
              'Set SERVICE_BASE_URL and SERVICE_API_KEY and restart the connector, or add an account with POST /v1/accounts.',
            ],
          });
    }
    const first = accounts.find(({ id }) => id === FIRST_ACCOUNT_ID);
    if (first === undefined) {
      return warning('The account in the settings is not stored yet.', {
        advice: ['Start or restart the connector: it stores the account at start.'],
      });
    }
    const owner = await findByKey(database, service.apiKey);
    if (owner !== null && owner !== FIRST_ACCOUNT_ID) {
      return problem(
        'SERVICE_API_KEY belongs to an account that was added through the API, so no process can start.',
        {
          evidence: [`It is the key of account ${owner}.`],
          advice: [
            `Remove that account (DELETE /v1/accounts/${owner}), or remove SERVICE_API_KEY and SERVICE_BASE_URL from the settings.`,
          ],
        },
      );
    }
    const changed = [
      ...(owner === FIRST_ACCOUNT_ID ? [] : ['SERVICE_API_KEY']),
      ...(first.baseUrl === service.baseUrl ? [] : ['SERVICE_BASE_URL']),
    ];
    if (changed.length === 0) return ok('The stored account matches the settings.');
    if (!first.hasCredential) return notChecked('The stored account has no credential yet.');
    return warning(`${changed.join(' and ')} changed since the connector started.`, {
      advice: [
        'Restart every process of the connector, or run this command with the settings that they use.',
      ],
    });
  },
};
