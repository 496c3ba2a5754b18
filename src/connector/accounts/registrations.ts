import type { Database } from '../../runtime/database/database.ts';
import type { KeyRing } from '../../runtime/sealing/key-ring.ts';
import { FIRST_SUBSCRIPTION_ID } from '../inbox/subscription-secrets.ts';
import { heldByLiving } from '../work/lease.ts';
import type { Account } from './account-store.ts';
import { clientOf } from './credential-source.ts';
import { REGISTRATION } from './register-webhook.ts';
import { createRegistrar, type Registrar, type SecretIssue } from './registrar.ts';
import type { RegistrationKeeper, Replaced } from './replace-secret.ts';

export interface RegistrationsOptions {
  readonly keeper: RegistrationKeeper;
  readonly keyRing: KeyRing;
  /** Public address of the receiver without an id; null: webhooks are registered by hand. */
  readonly publicUrl: string | null;
  /** Whether this process may use the credential of an account. */
  readonly mayUse: (account: Account) => boolean;
  /** Told when an account has a new secret. */
  readonly onIssued: (accountId: string, how: SecretIssue) => Promise<void>;
  readonly random: () => number;
  readonly settleMs?: number | undefined;
}

/**
 * The webhooks of all API keys, and their secrets. Never those of grants: an OAuth app has its webhook where it is
 * registered, and what these calls would change for an access token is not shown; it might be the customer's own.
 * Implements `Events`: subscriptions.
 */
export interface Registrations {
  /**
   * Looks after the webhook of an API key from now on, or again after a change of it. One attempt, then resolves.
   * Leaves every other account alone.
   */
  add(account: Account): Promise<void>;
  remove(accountId: string): Promise<void>;
  /** The secret of a subscription is in doubt for long: whoever was replacing it may be gone. */
  nudge(subscriptionId: string): void;
  /** Does the same for every subscription that is in doubt. Throws what the database throws. */
  nudgeAbandoned(): Promise<void>;
  /** Rotates, see `Registrar.rotate`. Throws `UnknownCredential` when this process cannot call for it. */
  rotate(accountId: string, compromised: boolean): Promise<Replaced | null>;
  close(): Promise<void>;
}

/** This process has no credential of the account. */
export class UnknownCredential extends Error {
  override readonly name = 'UnknownCredential';

  constructor() {
    super('this connector has no credential of the account');
  }
}

interface Registered {
  readonly subscriptionId: string;
  readonly registrar: Registrar;
}

/** Registers the webhook of each API key at its own path, and rotates secrets. */
export function createRegistrations(options: RegistrationsOptions): Registrations {
  const { keeper, keyRing, publicUrl, mayUse, onIssued, random, settleMs } = options;
  const { database, clock, presence } = keeper;
  const byAccount = new Map<string, Registered>();

  function registrarOf(account: Account): Registrar {
    const { id, subscriptionId } = account;
    return createRegistrar({
      keeper,
      keyRing,
      // Without grants, so that not even a mistake could call with an access token.
      client: () => clientOf({ database, keyRing, clock }, account),
      subscriptionId,
      url: publicUrl === null ? null : webhookUrl(publicUrl, subscriptionId),
      settleMs,
      random,
      onIssued: (how) => onIssued(id, how),
    });
  }

  function registrarsOf(subscriptionId: string): readonly Registrar[] {
    const registered = [...byAccount.values()].filter((each) => each.subscriptionId === subscriptionId);
    return registered.map(({ registrar }) => registrar);
  }

  function nudge(subscriptionId: string): void {
    for (const registrar of registrarsOf(subscriptionId)) registrar.nudge();
  }

  presence.onLeft(REGISTRATION, (subscriptionId) => {
    for (const registrar of registrarsOf(subscriptionId)) void registrar.attempt();
  });

  return {
    async add(account) {
      if (account.kind !== 'api_key' || !account.hasCredential || !mayUse(account)) return;
      const registrar = byAccount.get(account.id)?.registrar ?? registrarOf(account);
      byAccount.set(account.id, { subscriptionId: account.subscriptionId, registrar });
      await registrar.attempt();
    },
    async remove(accountId) {
      const registered = byAccount.get(accountId);
      byAccount.delete(accountId);
      await registered?.registrar.close();
    },
    nudge,
    async nudgeAbandoned() {
      for (const id of await readAbandoned(database)) nudge(id);
    },
    async rotate(accountId, compromised) {
      const registered = byAccount.get(accountId);
      if (registered === undefined) throw new UnknownCredential();
      return await registered.registrar.rotate(compromised);
    },
    async close() {
      await Promise.all([...byAccount.values()].map(({ registrar }) => registrar.close()));
    },
  };
}

/** The first subscription is served at the address itself, the others below it. */
export function webhookUrl(publicUrl: string, subscriptionId: string): string {
  if (subscriptionId === FIRST_SUBSCRIPTION_ID) return publicUrl;
  const url = new URL(publicUrl);
  url.pathname = `${url.pathname.replace(/\/+$/, '')}/${encodeURIComponent(subscriptionId)}`;
  return url.href;
}

/** A secret is replaced under the lease of its registration, so a mark without a holder was left behind. */
async function readAbandoned(database: Database): Promise<string[]> {
  const rows = await database.query<{ id: string }>(
    `select id from connector.subscriptions
      where rotation_pending_owner is not null and not ${heldByLiving(`'${REGISTRATION}:' || id`)}`,
  );
  return rows.map(({ id }) => id);
}
