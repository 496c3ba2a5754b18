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
 * The keys that sign access tokens, one after the other. A new one is made and shown when the last one nears
 * its end, and signs a day later, so that no client that keeps the JWKS for a while meets a key that it does not
 * know. An old one is shown until the last token that it signed has ended, and is then destroyed.
 */
export interface SigningKeys {
  /** The key that signs now. Makes the next one where it is time. */
  signer(): Promise<SigningKey>;
  /** Those that the JWKS shows, newest first. Makes the next one where it is time. */
  shown(): Promise<readonly SigningKey[]>;
  /** The key with an id; null: none that signed a token which may still be good. */
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

/** The keys that still matter, of keys newest first: one ends when the token life after its successor began. */
function withoutEnded(keys: readonly SigningKey[], now: number): SigningKey[] {
  return keys.filter((_key, place) => {
    const successor = keys[place - 1];
    return successor === undefined || successor.signsFrom + LIMITS.accessTokenLifetimeMs > now;
  });
}

/** Reads the keys; the first start on a database makes one that signs at once. */
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
      if (key === undefined) throw new Error('no key signs yet');
      return key;
    },
    async shown() {
      await bringUpToDate();
      return current();
    },
    find: (kid) => current().find((key) => key.kid === kid) ?? null,
  };
}
