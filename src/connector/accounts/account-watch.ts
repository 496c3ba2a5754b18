import type { Clock } from '../../runtime/clock/clock.ts';
import { repeat } from '../../runtime/clock/repeat.ts';
import type { Database } from '../../runtime/database/database.ts';
import type { Logger } from '../../runtime/logger/logger.ts';
import { type Account, readAccounts } from './account-store.ts';

/** So much later than the one that was asked, the other processes know of an account that came or went. */
const EVERY_MS = 10_000;

export interface AccountWatchOptions {
  readonly database: Database;
  readonly clock: Clock;
  readonly logger: Logger;
  /** An account is there, or has another credential than before. */
  readonly onPresent: (account: Account) => Promise<void>;
  readonly onGone: (accountId: string) => Promise<void>;
}

/** Sees accounts come and go that other processes add and remove. */
export interface AccountWatch {
  /** Tells of every account there is, and looks again from time to time. Throws what the database throws. */
  start(): Promise<void>;
  /** Looks now: an account came or went in this process. Tells of `accountId` even if it has told of it before. */
  look(accountId?: string): Promise<void>;
  close(): Promise<void>;
}

/** Watches the table of accounts, by reading it: nothing else reaches every process through any pooler. */
export function createAccountWatch(options: AccountWatchOptions): AccountWatch {
  const { database, clock, logger, onPresent, onGone } = options;
  /** The version of the credential that was told of, by account. */
  const told = new Map<string, number>();
  /** To be told of once more. */
  const again = new Set<string>();

  async function lookOnce(): Promise<void> {
    const accounts = await readAccounts(database);
    const present = new Set(accounts.map(({ id }) => id));
    for (const id of [...told.keys()].filter((known) => !present.has(known))) {
      await onGone(id);
      told.delete(id);
    }
    const fresh = accounts.filter(
      ({ id, credentialVersion }) => again.delete(id) || told.get(id) !== credentialVersion,
    );
    // Whoever could not be told is told the next time.
    const tell = async (account: Account): Promise<void> => {
      await onPresent(account);
      told.set(account.id, account.credentialVersion);
    };
    await Promise.all(fresh.map(tell));
  }

  const looking = repeat({
    clock,
    everyMs: EVERY_MS,
    run: lookOnce,
    onError: (err) => logger.warn({ err }, 'the accounts could not be read; trying again soon'),
  });
  return {
    async start() {
      await looking.runNow();
      looking.start();
    },
    look(accountId) {
      if (accountId !== undefined) again.add(accountId);
      return looking.runNow();
    },
    close: looking.stop,
  };
}
