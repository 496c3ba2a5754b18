import { and, eq, isNotNull } from 'drizzle-orm';
import type { Clock } from '../../runtime/clock/clock.ts';
import type { Database, Queryable } from '../../runtime/database/database.ts';
import { orm } from '../../runtime/database/orm.ts';
import { digest } from '../../runtime/sealing/digest.ts';
import { equalSecrets } from '../../runtime/sealing/equal-secrets.ts';
import type { KeyRing } from '../../runtime/sealing/key-ring.ts';
import type { Audit } from '../audit/audit.ts';
import { accounts, connections, pollStates } from '../db/schema.ts';
import { credentialContext } from '../db/sealed-columns.ts';
import { createServiceClient } from '../service-client/service-client.ts';
import {
  FIRST_ACCOUNT_ID,
  findByKey,
  IS_REFUSED,
  insertAccount,
  openCredential,
  renewCredential,
} from './account-store.ts';
import { AccountExists } from './add-account.ts';
import { resumePolls } from './poll-state.ts';
import { type Candidate, judgeAnswer, type Objection } from './settings-trial.ts';
import { FIRST_SUBSCRIPTION_ID } from './subscription-secrets.ts';
import { addSubscription, storeConfiguredSecret } from './subscription-store.ts';

/** The service of the first account, from the settings. */
export interface ConfiguredService {
  readonly baseUrl: string;
  readonly apiKey: string;
}

export interface FirstAccountOptions {
  readonly database: Database;
  readonly keyRing: KeyRing;
  readonly clock: Clock;
  /** Absent: the settings name no service. A stored credential is kept, because other processes may use it. */
  readonly service?: ConfiguredService | undefined;
  /** Signing secret of a webhook that was registered by hand. */
  readonly webhookSecret?: string | undefined;
  readonly audit?: Audit | undefined;
}

/**
 * Stores the account of the settings with its subscription, but not its credential, which is tested first: see
 * `firstAccountCandidate`. All processes may do this at the same time. Throws a `SealingError` if a stored
 * secret was sealed with a key that is not in the key ring; it is not overwritten, because other processes may
 * have that key. Throws `AccountExists` if the API key was added as another account through the API.
 */
export async function ensureFirstAccount(options: FirstAccountOptions): Promise<void> {
  const { database, keyRing, clock, service, webhookSecret, audit } = options;
  if (service === undefined && webhookSecret === undefined) return;
  const now = clock.now();
  const [id, subscriptionId] = [FIRST_ACCOUNT_ID, FIRST_SUBSCRIPTION_ID];
  await addSubscription(database, { id: subscriptionId, accountId: id });
  const added = await insertAccount(database, { id, kind: 'api_key', subscriptionId, createdAt: now });
  const details = { who: 'settings', id: FIRST_ACCOUNT_ID, result: 'ok' } as const;
  if (added) audit?.note('account.added', details);
  if (service !== undefined) {
    await openCredential(database, keyRing, FIRST_ACCOUNT_ID);
    const owner = await findByKey(database, service.apiKey);
    if (owner !== null && owner !== FIRST_ACCOUNT_ID) throw new AccountExists(owner);
  }
  if (webhookSecret === undefined) return;
  const secret = { id: subscriptionId, secret: webhookSecret, now };
  const changed = await storeConfiguredSecret(database, keyRing, secret);
  if (changed) audit?.note('account.changed', { ...details, what: 'WEBHOOK_SECRET' });
}

/** The credential of the first account in the settings, to be tested before it replaces the stored one. */
export function firstAccountCandidate(
  { database, keyRing, clock }: FirstAccountOptions,
  service: ConfiguredService,
): Candidate {
  const client = createServiceClient({ baseUrl: service.baseUrl, token: () => service.apiKey, clock });

  return {
    subject: FIRST_ACCOUNT_ID,
    setting: 'SERVICE_BASE_URL and SERVICE_API_KEY',
    digest: digestOfCredential(service.baseUrl, digest(service.apiKey)),
    inUse: readInUse,
    async attempt(signal) {
      try {
        const { items } = await client.listConnections(signal);
        return await judgeWorkspace(database, new Set(items.map(({ id }) => id)));
      } catch (error) {
        return judgeAnswer(error, service.baseUrl);
      }
    },
    async store(tx) {
      const changed = await lockAndCompare(tx, service);
      // Another process that tried it at the same time has stored it, and its polls have resumed.
      if (changed.length === 0 && (await readInUse(tx))?.refused === false) return changed;
      await storeCredential(tx, keyRing, service);
      await resumePolls(tx, FIRST_ACCOUNT_ID, clock.now());
      return changed;
    },
  };
}

function digestOfCredential(baseUrl: string, keyDigest: string): string {
  return digest(`${baseUrl}\n${keyDigest}`);
}

async function readInUse(db: Queryable): Promise<{ digest: string; refused: boolean } | null> {
  const { baseUrl, credentialDigest: keyDigest, sealedCredential, id } = accounts;
  const [row] = await orm(db)
    .select({ baseUrl, keyDigest, refused: IS_REFUSED })
    .from(accounts)
    .leftJoin(pollStates, eq(pollStates.accountId, id))
    .where(and(eq(id, FIRST_ACCOUNT_ID), isNotNull(sealedCredential)));
  if (row === undefined || row.baseUrl === null) return null;
  return { digest: digestOfCredential(row.baseUrl, row.keyDigest ?? ''), refused: row.refused };
}

/** A valid key of another workspace would hide all connections of the account. */
async function judgeWorkspace(db: Queryable, listed: ReadonlySet<string>): Promise<Objection | null> {
  const { connectionId: id, accountId, visible } = connections;
  const known = await orm(db)
    .select({ id })
    .from(connections)
    .where(and(eq(accountId, FIRST_ACCOUNT_ID), eq(visible, true)));
  const isOther = known.length > 0 && listed.size > 0 && !known.some(({ id }) => listed.has(id));
  if (!isOther) return null;
  return {
    setting: 'SERVICE_API_KEY',
    problem:
      `is a key of a different workspace: it lists none of the ${known.length} connections of the stored account. ` +
      'Use a key of the same workspace. To change the workspace, start once without ' +
      'SERVICE_API_KEY and remove the account (DELETE /v1/accounts/default).',
    isFinal: true,
  };
}

/** The settings that differ from what is stored, which nobody changes until the transaction ends. */
async function lockAndCompare(db: Queryable, { baseUrl, apiKey }: ConfiguredService): Promise<string[]> {
  const [before] = await orm(db)
    .select({ baseUrl: accounts.baseUrl, keyDigest: accounts.credentialDigest })
    .from(accounts)
    .where(eq(accounts.id, FIRST_ACCOUNT_ID))
    .for('update');
  return [
    ...(before?.baseUrl === baseUrl ? [] : ['SERVICE_BASE_URL']),
    ...(equalSecrets(before?.keyDigest ?? '', digest(apiKey)) ? [] : ['SERVICE_API_KEY']),
  ];
}

/** Replaces the stored credential. Its version increases, so that every process uses it. */
async function storeCredential(
  db: Queryable,
  keyRing: KeyRing,
  { baseUrl, apiKey }: ConfiguredService,
): Promise<void> {
  const sealedCredential = await keyRing.seal(apiKey, credentialContext(FIRST_ACCOUNT_ID));
  const renewed = { baseUrl, sealedCredential, credentialDigest: digest(apiKey) };
  await renewCredential(db, eq(accounts.id, FIRST_ACCOUNT_ID), renewed);
}
