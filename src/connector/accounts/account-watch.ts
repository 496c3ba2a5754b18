import type { Clock } from '../../runtime/clock/clock.ts';
import { repeat } from '../../runtime/clock/repeat.ts';
import type { Database } from '../../runtime/database/database.ts';
import type { Logger } from '../../runtime/logger/logger.ts';
import { type Account, readAccounts } from './account-store.ts';

/** How long after the requested time other processes may notice an added or removed account. */
const EVERY_MS = 10_000;

export interface AccountWatchOptions {
  readonly database: Database;
  readonly clock: Clock;
  readonly logger: Logger;
  /** An account exists, or has a new credential. */
  readonly onPresent: (account: Account) => Promise<void>;
  readonly onGone: (accountId: string) => Promise<void>;
}

/** Notices accounts that other processes add and remove. */
export interface AccountWatch {
  /** Reports every existing account, and checks again periodically. Throws what the database throws. */
  start(): Promise<void>;
  /**
   * Checks now, because this process added or removed an account. Reports `accountId` even if it was reported
   * before.
   */
  checkNow(accountId?: string): Promise<void>;
  close(): Promise<void>;
}

/**
 * Watches the table of accounts by reading it, because nothing else reaches every process through every pooler.
 */
export function createAccountWatch(options: AccountWatchOptions): AccountWatch {
  const { database, clock, logger, onPresent, onGone } = options;
  /** The version of the credential that was reported, by account. */
  const started = new Map<string, number>();
  /** To be reported again. */
  const again = new Set<string>();

  async function checkOnce(): Promise<void> {
    const accounts = await readAccounts(database);
    const present = new Set(accounts.map(({ id }) => id));
    for (const id of [...started.keys()].filter((known) => !present.has(known))) {
      await onGone(id);
      started.delete(id);
    }
    const fresh = accounts.filter(
      ({ id, credentialVersion }) => again.delete(id) || started.get(id) !== credentialVersion,
    );
    // If reporting failed, it is repeated with the next check.
    const report = async (account: Account): Promise<void> => {
      await onPresent(account);
      started.set(account.id, account.credentialVersion);
    };
    await Promise.all(fresh.map(report));
  }

  const checks = repeat({
    clock,
    everyMs: EVERY_MS,
    run: checkOnce,
    onError: (err) => logger.warn({ err }, 'the accounts could not be read; retrying soon'),
  });
  return {
    async start() {
      await checks.runNow();
      checks.start();
    },
    checkNow(accountId) {
      if (accountId !== undefined) again.add(accountId);
      return checks.runNow();
    },
    close: checks.stop,
  };
}
