import { and, eq } from 'drizzle-orm';
import { repeat } from '../../runtime/clock/repeat.ts';
import type { Database } from '../../runtime/database/database.ts';
import { orm } from '../../runtime/database/orm.ts';
import { releaseConnections } from '../db/connection-rows.ts';
import * as tables from '../db/schema.ts';
import { revokeLeases } from '../work/presence.ts';
import { type Account, readAccount, readAccounts } from './account-store.ts';
import { type AddedService, addAccount } from './add-account.ts';
import { POLL } from './poll-state.ts';
import { createRegistrations, type RegistrationsOptions } from './registrations.ts';
import { REGISTRATION } from './subscription-store.ts';

/** How long after the requested time other processes may notice an added or removed account. */
const EVERY_MS = 10_000;

export interface AccountsOptions extends RegistrationsOptions {
  /** Has an account polled by the processes that poll. */
  readonly polling: { begin(account: Account): Promise<void>; end(accountId: string): void };
  /** This process polls accounts that other processes add. */
  readonly polls: boolean;
  /** Called with the refresh token of a removed account. */
  readonly onRemoved?: ((accountId: string, sealedRefreshToken: string) => void) | undefined;
}

/** The accounts of this connector, each with its own credential, schedule, webhook path and secret. */
export type Accounts = ReturnType<typeof createAccounts>;

/**
 * Creates everything that belongs to accounts. What other processes add and remove is noticed by reading the table,
 * because nothing else reaches every process through every pooler.
 */
export function createAccounts(options: AccountsOptions) {
  const { database, clock, logger, polling } = options;
  const registrations = createRegistrations(options);
  /** The version of the credential that was taken up, by account. What this process may not use yet is not in it. */
  const known = new Map<string, number>();
  let started = false;

  async function begin(account: Account): Promise<void> {
    if (!options.mayUse(account)) return;
    if (started && options.polls) await polling.begin(account);
    // It waits for a service that may not answer.
    await registrations.add(account);
    known.set(account.id, account.credentialVersion);
  }

  async function check(): Promise<void> {
    const accounts = await readAccounts(database);
    const present = new Set(accounts.map(({ id }) => id));
    for (const id of known.keys()) {
      if (present.has(id)) continue;
      polling.end(id);
      known.delete(id);
    }
    // What fails is repeated with the next check.
    const fresh = accounts.filter(({ id, credentialVersion }) => known.get(id) !== credentialVersion);
    await Promise.all(fresh.map(begin));
  }

  const checks = repeat({
    clock,
    everyMs: EVERY_MS,
    run: check,
    onError: (err) => logger.warn({ err }, 'the accounts could not be read; retrying soon'),
  });

  /** Starts to work with an account that this process has just stored, or whose credential it has replaced. Never rejects. */
  async function takeUp(accountId: string): Promise<void> {
    try {
      await checks.runNow();
      if (options.polls) return;
      const account = await readAccount(database, accountId);
      if (account !== null) await polling.begin(account);
    } catch (err) {
      // The account is stored: what fails now is repeated by the next check of any process.
      logger.warn({ err, accountId }, 'an account was added, but could not be started; retrying later');
    }
  }

  return {
    /** Starts to work with what it may use from now on. What fails is repeated within 10 s. Throws what that throws. */
    check: checks.runNow,
    takeUp,
    /** Registers webhooks, and follows what other processes add and remove. */
    async start(): Promise<void> {
      started = true;
      await registrations.start();
      await checks.runNow();
      checks.start();
    },
    /**
     * Adds an account, registers its webhook and has it polled. Resolves with its id once it is stored and one
     * attempt to register was made. Throws what `addAccount` throws.
     */
    async add(service: AddedService): Promise<string> {
      const id = await addAccount(options, service);
      await takeUp(id);
      return id;
    },
    /** Removes an account and stops all work for it, see `removeAccount`. False if it does not exist. */
    async remove(accountId: string): Promise<boolean> {
      const removed = await removeAccount(database, accountId, clock.now());
      if (removed === null) return false;
      // After the account is removed, so that a slow service delays nothing.
      if (removed.sealedRefreshToken !== null) options.onRemoved?.(accountId, removed.sealedRefreshToken);
      await checks.runNow().catch((err: unknown) => {
        logger.warn({ err, accountId }, 'an account was removed, but could not be stopped; retrying later');
      });
      return true;
    },
    rotate: registrations.rotate,
    settle: registrations.settle,
    async close(): Promise<void> {
      // A check may wait for a registration, which ends only by this.
      await Promise.all([checks.stop(), registrations.close()]);
    },
  };
}

const { accounts, oauthGrants, subscriptions } = tables;
/** What belongs to one account only and is useless without it. */
const OF_ACCOUNT = [
  tables.coverage,
  tables.pollStates,
  tables.gaps,
  tables.sweeps,
  tables.repairs,
  tables.repairTotals,
  tables.quotas,
  oauthGrants,
];

/**
 * Deletes an account, its credential and its webhook path. Messages, connections and changes are kept, because
 * they are the CRM's history; its connections are hidden, and another account that lists one of them, or receives
 * an event of one, takes it over. Processes that poll or register for it lose the lease, so nothing is written for it
 * afterwards. The webhook path of an OAuth app is kept: other grants share it. Resolves with the refresh token of its
 * grant, to be revoked (null if it had none); null if the account does not exist. Throws what the database throws.
 */
async function removeAccount(
  database: Database,
  accountId: string,
  now: number,
): Promise<{ readonly sealedRefreshToken: string | null } | null> {
  return await database.transaction(async (tx) => {
    const db = orm(tx);
    const [account] = await db
      .delete(accounts)
      .where(eq(accounts.id, accountId))
      .returning({ subscriptionId: accounts.subscriptionId });
    if (account === undefined) return null;
    const owned = await db
      .delete(subscriptions)
      .where(and(eq(subscriptions.id, account.subscriptionId), eq(subscriptions.accountId, accountId)))
      .returning({ id: subscriptions.id });
    await revokeLeases(tx, [`${POLL}:${accountId}`, ...owned.map(({ id }) => `${REGISTRATION}:${id}`)]);
    const [grant] = await db
      .select({ sealed: oauthGrants.sealedRefreshToken })
      .from(oauthGrants)
      .where(eq(oauthGrants.accountId, accountId))
      .for('update');
    for (const table of OF_ACCOUNT) await orm(tx).delete(table).where(eq(table.accountId, accountId));
    await releaseConnections(tx, accountId, now);
    return { sealedRefreshToken: grant?.sealed ?? null };
  });
}
