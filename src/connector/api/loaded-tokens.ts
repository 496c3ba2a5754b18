import { z } from 'zod';
import type { Clock } from '../../runtime/clock/clock.ts';
import type { Database } from '../../runtime/database/database.ts';
import { digest } from '../../runtime/sealing/digest.ts';
import { equalSecrets } from '../../runtime/sealing/equal-secrets.ts';
import { type KeyRing, SealingError } from '../../runtime/sealing/key-ring.ts';
import type { Audit } from '../audit.ts';
import type { ApiToken } from './token-guard.ts';

const ID = 'api';
/** The place of the sealed list. */
const CONTEXT = `loaded_tokens:${ID}`;
/** What is told when the list does not open: its key is gone, or somebody altered it. */
const UNREADABLE = 'what the last start named cannot be read';

const loadedToken = z.object({ name: z.string(), rights: z.string(), digest: z.string() });
type LoadedToken = z.infer<typeof loadedToken>;

export interface LoadedTokensOptions {
  readonly database: Database;
  readonly keyRing: KeyRing;
  readonly audit: Audit;
  readonly clock: Clock;
  /** A worker serves no API and may know fewer tokens. */
  readonly role: 'all' | 'web' | 'worker';
}

/**
 * Tells in the audit trail which tokens this process knows by name and rights, and what has changed of them since the
 * last start.
 */
export async function noteTokens(options: LoadedTokensOptions, tokens: readonly ApiToken[]): Promise<void> {
  const what = tokens.map(({ name, rights }) => `${name} ${rights.join('+')}`);
  options.audit.note('tokens.loaded', { who: 'settings', what, result: 'ok' });
  if (options.role !== 'worker') await tellChangedTokens(options, tokens);
}

/**
 * Tells which names and rights were added, removed or changed since the last start of a process
 * that serves the API, and keeps what is named now. Of several processes that start with the same tokens the first one
 * tells it. What is kept is sealed and holds the SHA-256 of each token, so neither a token nor anything to try guesses
 * on lies in the database. The first start of all has nothing to compare with and tells nothing. A list that does not
 * open is told and replaced: nothing else needs it. Throws what the database throws.
 */
async function tellChangedTokens(
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
    await tx.query(
      'insert into connector.loaded_tokens (id, loaded_at) values ($1, $2) on conflict do nothing',
      [ID, now],
    );
    const [row] = await tx.query<{ sealed: string | null }>(
      'select sealed_tokens as sealed from connector.loaded_tokens where id = $1 for update',
      [ID],
    );
    const sealed = row?.sealed ?? null;
    const before = sealed === null ? null : await openTokens(keyRing, sealed);
    const found = before === null ? [] : before === UNREADABLE ? [UNREADABLE] : compareTokens(before, named);
    if (sealed === null || found.length > 0 || !keyRing.isCurrent(sealed)) {
      const fresh = await keyRing.seal(JSON.stringify(named), CONTEXT);
      await tx.query('update connector.loaded_tokens set sealed_tokens = $2, loaded_at = $3 where id = $1', [
        ID,
        fresh,
        now,
      ]);
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

/** What became of each name: `added`, `removed`, `replaced` (another token), or its name or rights now and before. */
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
