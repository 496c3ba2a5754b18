import type { Database } from '../../runtime/database/database.ts';
import type { KeyRing } from '../../runtime/sealing/key-ring.ts';
import type { LeaseKeeper } from '../leases/hold-lease.ts';
import { type Account, FIRST_SUBSCRIPTION_ID } from './account-store.ts';
import { type CredentialSource, clientOf, clientWith } from './credential-source.ts';
import { createRegistrar, type Registrar } from './registrar.ts';
import type { Replaced } from './replace-secret.ts';

/** A replacement that takes longer may have lost its owner, whose lease has run out by then. */
const OWNER_GONE_MS = 10_000;

/** Credentials of an OAuth app, by the subscription that its grants share. */
export interface AppGrants {
  ofSubscription(subscriptionId: string): CredentialSource;
}

export interface RegistrationsOptions {
  readonly keeper: LeaseKeeper;
  readonly keyRing: KeyRing;
  /** Public address of the receiver without an id; null: webhooks are registered by hand. */
  readonly publicUrl: string | null;
  /** Whether this process may use the credential of an account. */
  readonly mayUse: (account: Account) => boolean;
  /** Told when an account has a new secret. */
  readonly onIssued: (accountId: string) => Promise<void>;
  readonly grants?: AppGrants | undefined;
  readonly random: () => number;
  readonly settleMs?: number | undefined;
}

/** The webhooks of all accounts, and their secrets. */
export interface Registrations {
  /** Looks after the webhook of an account from now on, or again with its new credential. One attempt, then resolves. */
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
  /** More than one where the grants of an app share a subscription. */
  readonly accountIds: Set<string>;
  readonly registrar: Registrar;
}

/** Registers the webhook of each subscription at its own path, and rotates secrets. */
export function createRegistrations(options: RegistrationsOptions): Registrations {
  const { keeper, keyRing, publicUrl, mayUse, onIssued, grants, random, settleMs } = options;
  const { database, clock } = keeper;
  const bySubscription = new Map<string, Registered>();

  function register(account: Account): Registered {
    const { subscriptionId } = account;
    const accountIds = new Set<string>();
    const registrar = createRegistrar({
      keeper,
      keyRing,
      client: () =>
        account.kind === 'oauth' && grants !== undefined
          ? clientWith(grants.ofSubscription(subscriptionId), account, clock)
          : clientOf({ database, keyRing, clock }, account),
      subscriptionId,
      url: publicUrl === null ? null : webhookUrl(publicUrl, subscriptionId),
      settleMs,
      random,
      onIssued: async () => {
        for (const id of accountIds) await onIssued(id);
      },
    });
    return { accountIds, registrar };
  }

  function nudge(subscriptionId: string): void {
    bySubscription.get(subscriptionId)?.registrar.nudge();
  }

  function findByAccount(accountId: string): [string, Registered] | undefined {
    return [...bySubscription].find(([, { accountIds }]) => accountIds.has(accountId));
  }

  return {
    async add(account) {
      if (!account.hasCredential || !mayUse(account)) return;
      const registered = bySubscription.get(account.subscriptionId) ?? register(account);
      bySubscription.set(account.subscriptionId, registered);
      registered.accountIds.add(account.id);
      await registered.registrar.attempt();
    },
    async remove(accountId) {
      const [subscriptionId, registered] = findByAccount(accountId) ?? [];
      if (subscriptionId === undefined || registered === undefined) return;
      registered.accountIds.delete(accountId);
      if (registered.accountIds.size > 0) return;
      bySubscription.delete(subscriptionId);
      await registered.registrar.close();
    },
    nudge,
    async nudgeAbandoned() {
      for (const id of await readAbandoned(database, clock.now() - OWNER_GONE_MS)) nudge(id);
    },
    async rotate(accountId, compromised) {
      const [, registered] = findByAccount(accountId) ?? [];
      if (registered === undefined) throw new UnknownCredential();
      return await registered.registrar.rotate(compromised);
    },
    async close() {
      await Promise.all([...bySubscription.values()].map(({ registrar }) => registrar.close()));
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

async function readAbandoned(database: Database, before: number): Promise<string[]> {
  const rows = await database.query<{ id: string }>(
    'select id from connector.subscriptions where rotation_pending_at < $1',
    [before],
  );
  return rows.map(({ id }) => id);
}
