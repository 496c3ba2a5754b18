import { desc, not } from 'drizzle-orm';
import { LIMITS } from '../../contract/service/limits.ts';
import type { Queryable } from '../../runtime/database/database.ts';
import { isAnyOf, orm } from '../../runtime/database/orm.ts';
import { oauthSigningKeys } from '../db/oauth-tables.ts';
import { ASSUMPTIONS } from '../kernel/assumptions.ts';
import type { DomainClock } from '../time/domain-clock.ts';
import type { ChangeState } from '../time/state-change.ts';
import { makeSigningKey, readSigningKey, type SigningKey, type StoredKey } from './signing-key.ts';

/**
 * The keys that sign access tokens, in succession. Before a key ends, the next one is created and added to the JWKS. It
 * signs a day later, so that clients that cache the JWKS know it by then. A key remains in the JWKS until the last
 * token that it signed has expired, and is then deleted.
 */
export interface SigningKeys {
  /** The key that signs now. Creates the next one when it is due. */
  signer(): Promise<SigningKey>;
  /** The keys in the JWKS, newest first. Creates the next one when it is due. */
  shown(): Promise<readonly SigningKey[]>;
  /** The key with an id; null if no valid token can be signed with it. */
  find(kid: string | undefined): SigningKey | null;
}

interface Options {
  readonly database: Queryable;
  readonly changeState: ChangeState;
  readonly clock: DomainClock;
}

const { signsForMs, shownBeforeMs } = ASSUMPTIONS.oauthSigningKeys.value;

const insert = (db: Queryable, key: StoredKey) => orm(db).insert(oauthSigningKeys).values(key);

async function loadKeys(db: Queryable, now: number): Promise<SigningKey[]> {
  const { kid, signsFrom } = oauthSigningKeys;
  const rows = await orm(db).select().from(oauthSigningKeys).orderBy(desc(signsFrom), kid);
  if (rows.length === 0) {
    const first = await makeSigningKey(now);
    await insert(db, first);
    rows.push(first);
  }
  return Promise.all(rows.map(readSigningKey));
}

/** Keys that are still needed, newest first. A key ends one token lifetime after its successor began to sign. */
function withoutEnded(keys: readonly SigningKey[], now: number): SigningKey[] {
  return keys.filter((_key, place) => {
    const successor = keys[place - 1];
    return successor === undefined || successor.signsFrom + LIMITS.accessTokenLifetimeMs > now;
  });
}

/** Reads the keys. The first start on a database creates one that signs at once. */
export async function loadSigningKeys({ database, changeState, clock }: Options): Promise<SigningKeys> {
  let keys = await loadKeys(database, clock.now());
  let inFlight: Promise<void> | null = null;

  const needsNext = (now: number): boolean => {
    const [newest] = keys;
    return newest !== undefined && newest.signsFrom + signsForMs - shownBeforeMs <= now;
  };

  const current = (): SigningKey[] => withoutEnded(keys, clock.now());

  const renew = async (): Promise<void> => {
    const made = needsNext(clock.now()) ? await makeSigningKey(clock.now() + shownBeforeMs) : null;
    const all = made === null ? keys : [await readSigningKey(made), ...keys];
    keys = await changeState(async ({ tx, now }) => {
      const left = withoutEnded(all, now);
      const kids = left.map(({ kid }) => kid);
      await orm(tx)
        .delete(oauthSigningKeys)
        .where(not(isAnyOf(oauthSigningKeys.kid, kids)));
      if (made !== null) await insert(tx, made);
      return left;
    });
  };

  const bringUpToDate = async (): Promise<void> => {
    if (!needsNext(clock.now()) && current().length === keys.length) return;
    inFlight ??= renew().finally(() => {
      inFlight = null;
    });
    await inFlight;
  };

  return {
    async signer() {
      await bringUpToDate();
      const now = clock.now();
      const key = keys.find(({ signsFrom }) => signsFrom <= now);
      if (key === undefined) throw new Error('there is no signing key yet');
      return key;
    },
    async shown() {
      await bringUpToDate();
      return current();
    },
    find: (kid) => current().find((key) => key.kid === kid) ?? null,
  };
}
