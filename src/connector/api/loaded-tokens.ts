import { eq } from 'drizzle-orm';
import { z } from 'zod';
import type { Clock } from '../../runtime/clock/clock.ts';
import type { Database } from '../../runtime/database/database.ts';
import { orm } from '../../runtime/database/orm.ts';
import { digest } from '../../runtime/sealing/digest.ts';
import { equalSecrets } from '../../runtime/sealing/equal-secrets.ts';
import { type KeyRing, SealingError } from '../../runtime/sealing/key-ring.ts';
import type { Audit } from '../audit/audit.ts';
import { loadedTokens } from '../db/schema.ts';
import type { ApiToken } from './token-guard.ts';

const ID = 'api';
/** Key of the sealed list. */
const CONTEXT = `loaded_tokens:${ID}`;
/** The audit entry for a list that cannot be opened: its sealing key is gone, or the list was altered. */
const UNREADABLE = 'the tokens of the previous start cannot be read';

const loadedToken = z.object({ name: z.string(), rights: z.string(), digest: z.string() });
type LoadedToken = z.infer<typeof loadedToken>;

export interface LoadedTokensOptions {
  readonly database: Database;
  readonly keyRing: KeyRing;
  readonly audit: Audit;
  readonly clock: Clock;
  /** A worker serves no API and may be configured with fewer tokens. */
  readonly role: 'all' | 'web' | 'worker';
}

/**
 * Records in the audit log which tokens this process has, by name and rights, and what has changed since the
 * last start.
 */
export async function noteTokens(options: LoadedTokensOptions, tokens: readonly ApiToken[]): Promise<void> {
  const what = tokens.map(({ name, rights }) => `${name} ${rights.join('+')}`);
  options.audit.note('tokens.loaded', { who: 'settings', what, result: 'ok' });
  if (options.role !== 'worker') await noteChangedTokens(options, tokens);
}

/**
 * Records which names and rights were added, removed or changed since the last start of a process that serves
 * the API, and stores the current ones. If several processes start with the same tokens, the first one
 * records it. The stored list is sealed and contains the SHA-256 of each token, so the database holds neither
 * a token nor anything to test guesses against. The very first start has nothing to compare with and records
 * nothing. A list that cannot be opened is recorded and replaced: nothing else needs it. Throws what the
 * database throws.
 */
async function noteChangedTokens(
  { database, keyRing, audit, clock }: LoadedTokensOptions,
  tokens: readonly ApiToken[],
): Promise<void> {
  const named = tokens.map(({ name, rights, token }) => ({
    name,
    rights: rights.join('+'),
    digest: digest(token),
  }));
  const now = clock.now();
  const changes = await database.transaction(async (tx) => {
    const isOwn = eq(loadedTokens.id, ID);
    await orm(tx).insert(loadedTokens).values({ id: ID, loadedAt: now }).onConflictDoNothing();
    const [row] = await orm(tx)
      .select({ sealed: loadedTokens.sealedTokens })
      .from(loadedTokens)
      .where(isOwn)
      .for('update');
    const sealed = row?.sealed ?? null;
    const before = sealed === null ? null : await openTokens(keyRing, sealed);
    const found = before === null ? [] : before === UNREADABLE ? [UNREADABLE] : compareTokens(before, named);
    if (sealed === null || found.length > 0 || !keyRing.isCurrent(sealed)) {
      const fresh = await keyRing.seal(JSON.stringify(named), CONTEXT);
      await orm(tx).update(loadedTokens).set({ sealedTokens: fresh, loadedAt: now }).where(isOwn);
    }
    return found;
  });
  if (changes.length > 0) audit.note('tokens.changed', { who: 'settings', what: changes, result: 'ok' });
}

async function openTokens(keyRing: KeyRing, sealed: string): Promise<LoadedToken[] | typeof UNREADABLE> {
  try {
    return z.array(loadedToken).parse(JSON.parse(await keyRing.open(sealed, CONTEXT)));
  } catch (error) {
    if (error instanceof SealingError) return UNREADABLE;
    throw error;
  }
}

/**
 * The changes by name: `added`, `removed`, `replaced` (a different token), or the new and the old name or
 * rights.
 */
function compareTokens(before: readonly LoadedToken[], now: readonly LoadedToken[]): string[] {
  const gone = before.filter(({ digest }) => !now.some((each) => equalSecrets(each.digest, digest)));
  const changes: string[] = [];
  for (const token of now) {
    const same = before.find(({ digest }) => equalSecrets(digest, token.digest));
    if (same !== undefined) {
      if (describe(same) !== describe(token))
        changes.push(`changed ${describe(token)}, was ${describe(same)}`);
      continue;
    }
    const index = gone.findIndex(({ name }) => name === token.name);
    const [replaced] = index < 0 ? [] : gone.splice(index, 1);
    if (replaced === undefined) changes.push(`added ${describe(token)}`);
    else {
      const was = replaced.rights === token.rights ? '' : `, was ${describe(replaced)}`;
      changes.push(`replaced ${describe(token)}${was}`);
    }
  }
  return [...changes, ...gone.map((token) => `removed ${describe(token)}`)];
}

function describe({ name, rights }: LoadedToken): string {
  return `${name} ${rights}`;
}
