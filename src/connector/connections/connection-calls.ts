import type { Clock } from '../../runtime/clock/clock.ts';
import type { Database } from '../../runtime/database/database.ts';
import type { Logger } from '../../runtime/logger/logger.ts';
import type { Notifier } from '../../runtime/notifier/notifier.ts';
import type { KeyRing } from '../../runtime/sealing/key-ring.ts';
import { type Account, readAccount } from '../accounts/account-store.ts';
import { clientOf, type GrantSources } from '../accounts/credential-source.ts';
import { createPairingWatches, type PairingWatches } from '../pairing/pairing-watches.ts';
import type { ServiceClient } from '../service-client/service-client.ts';
import type { Presence } from '../work/presence.ts';
import { createCreationFinisher } from './finish-creations.ts';

/**
 * Each stream holds a socket, and polls for a QR code every few seconds unless another one watches the same
 * connection.
 */
const MAX_PAIRING_STREAMS = 200;

export interface ConnectionCallsOptions {
  readonly database: Database;
  readonly keyRing: KeyRing;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly presence: Presence;
  readonly notifier: Notifier;
  readonly random: () => number;
  readonly grants?: GrantSources | undefined;
  /** Whether this process may use the credential of an account. */
  readonly mayUse: (account: Account) => boolean;
  /** Whether this process finishes what other processes started. */
  readonly finishes: boolean;
  /** Called when a change was written. */
  readonly onCommitted: () => void;
}

/** What all calls about connections share in one process. */
export interface ConnectionCalls {
  /** A client of the service for an account; null if this process must not use its credential. */
  readonly clientOf: (account: Account) => ServiceClient | null;
  readonly watches: PairingWatches;
  /** Aborts calls to the service when the process stops. */
  readonly closing: AbortSignal;
  /** Starts finishing creations that were left in doubt. Throws as `query` does. */
  start(): Promise<void>;
  /** Resolves when no creation is being finished. */
  settle(): Promise<void>;
  close(): Promise<void>;
}

export function createConnectionCalls(options: ConnectionCallsOptions): ConnectionCalls {
  const { database, keyRing, clock, logger, presence, notifier, random } = options;
  const closing = new AbortController();
  const open = (account: Account): ServiceClient | null =>
    options.mayUse(account) && account.hasCredential
      ? clientOf({ database, keyRing, clock, grants: options.grants }, account)
      : null;
  const watches = createPairingWatches({ clock, logger, random, maxViewers: MAX_PAIRING_STREAMS });
  const finisher = createCreationFinisher({
    database,
    clock,
    logger,
    presence,
    notifier,
    onCreated: options.onCommitted,
    clientFor: async (accountId) => {
      const account = await readAccount(database, accountId);
      return account === null ? null : open(account);
    },
  });
  return {
    clientOf: open,
    watches,
    closing: closing.signal,
    async start() {
      if (options.finishes) await finisher.start();
    },
    settle: finisher.settle,
    async close() {
      closing.abort();
      watches.close();
      await Promise.all([finisher.close(), watches.settle()]);
    },
  };
}
