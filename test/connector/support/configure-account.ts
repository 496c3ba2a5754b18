import {
  ensureFirstAccount,
  type FirstAccountOptions,
  firstAccountCandidate,
} from '../../../src/connector/accounts/first-account.ts';

/** Stores the account of the settings as if the service had taken it just now. */
export async function configureAccount(options: FirstAccountOptions): Promise<void> {
  await ensureFirstAccount(options);
  if (options.service === undefined) return;
  const { digest, inUse, store } = firstAccountCandidate(options, options.service);
  if ((await inUse(options.database))?.digest !== digest) await store(options.database);
}
