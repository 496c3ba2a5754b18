import type { Clock } from '../../runtime/clock/clock.ts';
import type { Database } from '../../runtime/database/database.ts';
import type { Logger } from '../../runtime/logger/logger.ts';
import type { Notifier } from '../../runtime/notifier/notifier.ts';
import type { KeyRing } from '../../runtime/sealing/key-ring.ts';
import type { Presence } from '../work/presence.ts';
import { type Account, readAccount } from './account-store.ts';
import { createAccountWatch } from './account-watch.ts';
import { type AddedService, addAccount } from './add-account.ts';
import { createRegistrations, type Registrations, type RegistrationsOptions } from './registrations.ts';
import { removeAccount } from './remove-account.ts';

export interface AccountsOptions {
  readonly database: Database;
  readonly keyRing: KeyRing;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly presence: Presence;
  readonly notifier: Notifier;
  readonly random: () => number;
  /** Public address of the receiver; undefined if webhooks are registered by hand. */
  readonly publicUrl: string | undefined;
  /** Time between announcing the rotation of a secret and the call. */
  readonly noticeMs: number | undefined;
  /** Whether this process may use the credential of an account. */
  readonly mayUse: (account: Account) => boolean;
  /** Called when an account has a new signing secret. */
  readonly onIssued: RegistrationsOptions['onIssued'];
  /** Has an account polled by the processes that poll. */
  readonly polling: {
    begin(account: Account): Promise<void>;
    end(accountId: string): Promise<void>;
  };
  /** This process polls accounts that other processes add. */
  readonly polls: boolean;
  /** Called with the refresh token of a removed account. */
  readonly onRemoved?: ((accountId: string, sealedRefreshToken: string) => void) | undefined;
}

/** The accounts of this connector, each with its own credential, schedule, webhook path and secret. */
export interface Accounts extends Pick<Registrations, 'rotate' | 'settle'> {
  /** Registers webhooks, and follows what other processes add and remove. */
  start(): Promise<void>;
  /**
   * Adds an account, registers its webhook and has it polled. Resolves with its id once it is stored and one
   * attempt to register was made. Throws what `addAccount` throws.
   */
  add(service: AddedService): Promise<string>;
  /**
   * Starts to work with an account that this process has just stored, whose credential it has replaced, or that
   * it may use from now on. Never rejects.
   */
  takeUp(accountId: string): Promise<void>;
  /** Removes an account and stops all work for it, see `removeAccount`. False if it does not exist. */
  remove(accountId: string): Promise<boolean>;
  close(): Promise<void>;
}

/** Creates everything that belongs to accounts. */
export function createAccounts(options: AccountsOptions): Accounts {
  const { database, keyRing, clock, logger, presence, notifier, random, polling } = options;
  const registrations = createRegistrations({
    database,
    keyRing,
    clock,
    logger,
    presence,
    notifier,
    publicUrl: options.publicUrl ?? null,
    mayUse: options.mayUse,
    onIssued: options.onIssued,
    random,
    noticeMs: options.noticeMs,
  });
  let started = false;
  const watch = createAccountWatch({
    database,
    clock,
    logger,
    onPresent: async (account) => {
      await registrations.add(account);
      if (started && options.polls) await polling.begin(account);
    },
    onGone: async (accountId) => {
      await polling.end(accountId);
    },
  });

  async function takeUp(accountId: string): Promise<void> {
    try {
      await watch.checkNow(accountId);
      if (options.polls) return;
      const account = await readAccount(database, accountId);
      if (account !== null) await polling.begin(account);
    } catch (err) {
      // The account is stored: what fails now is repeated by the next check of any process.
      logger.warn({ err, accountId }, 'an account was added, but could not be started; retrying later');
    }
  }

  return {
    takeUp,
    async start() {
      await registrations.start();
      await watch.start();
      started = true;
    },
    async add(service) {
      const id = await addAccount({ database, keyRing, clock }, service);
      await takeUp(id);
      return id;
    },
    async remove(accountId) {
      const removed = await removeAccount(database, accountId, clock.now());
      if (removed === null) return false;
      // After the account is removed, so that a slow service delays nothing.
      if (removed.sealedRefreshToken !== null) options.onRemoved?.(accountId, removed.sealedRefreshToken);
      await watch.checkNow().catch((err: unknown) => {
        logger.warn({ err, accountId }, 'an account was removed, but could not be stopped; retrying later');
      });
      return true;
    },
    rotate: registrations.rotate,
    settle: registrations.settle,
    async close() {
      await watch.close();
      await registrations.close();
    },
  };
}
