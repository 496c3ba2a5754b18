import {
  createSingleFlightRefresh,
  type SingleFlightRefresh,
  type Versioned,
} from '../../patterns/single-flight-refresh.ts';
import { equalSecrets } from '../../runtime/sealing/equal-secrets.ts';
import type { CredentialSource } from '../accounts/credential-source.ts';
import type { TokenPair } from './grant-store.ts';
import { loadTokens, type RefreshGrantOptions, refreshGrant } from './refresh-grant.ts';

/** A token that expires sooner is not used, because it could expire on the way. */
const USABLE_MS = 30_000;
/** Tokens in memory are read again after this time, so that a new consent through another process is noticed. */
const FRESH_MS = 5_000;

/** The access tokens of all grants, in one process. */
export interface GrantCredentials {
  /** The credential of an account of kind `oauth`. */
  of(accountId: string): CredentialSource;
  /** Refreshes a version, unless that has been done. Throws what refreshing throws. */
  refresh(accountId: string, version: number): Promise<void>;
}

interface Held {
  readonly flight: SingleFlightRefresh<TokenPair>;
  known: { readonly pair: Versioned<TokenPair>; readonly readAt: number } | undefined;
}

/** Creates the only component of a process that reads and refreshes tokens. */
export function createGrantCredentials(options: RefreshGrantOptions): GrantCredentials {
  const { clock } = options;
  const held = new Map<string, Held>();

  async function read(accountId: string): Promise<Versioned<TokenPair>> {
    const readAt = clock.elapsed();
    try {
      return keep(accountId, await loadTokens(options, accountId), readAt);
    } catch (error) {
      grantOf(accountId).known = undefined;
      throw error;
    }
  }

  function keep(accountId: string, pair: Versioned<TokenPair>, readAt: number): Versioned<TokenPair> {
    grantOf(accountId).known = { pair, readAt };
    return pair;
  }

  function grantOf(accountId: string): Held {
    const known = held.get(accountId);
    if (known !== undefined) return known;
    const flight = createSingleFlightRefresh<TokenPair>({
      load: () => read(accountId),
      renew: async (stored) => {
        const readAt = clock.elapsed();
        return keep(accountId, await refreshGrant(options, accountId, stored), readAt);
      },
    });
    const fresh: Held = { flight, known: undefined };
    held.set(accountId, fresh);
    return fresh;
  }

  async function authorization(accountId: string): Promise<string> {
    const { known } = grantOf(accountId);
    const isFresh = known !== undefined && clock.elapsed() - known.readAt < FRESH_MS;
    const pair = isFresh ? known.pair : await read(accountId);
    if (isUsable(pair.token, clock.now())) return pair.token.accessToken;
    return (await grantOf(accountId).flight.newerThan(pair.version)).token.accessToken;
  }

  async function renew(accountId: string, refused: string): Promise<string> {
    const pair = await read(accountId);
    if (!equalSecrets(pair.token.accessToken, refused)) return pair.token.accessToken;
    return (await grantOf(accountId).flight.newerThan(pair.version)).token.accessToken;
  }

  const of = (accountId: string): CredentialSource => ({
    authorization: () => authorization(accountId),
    renew: (refused) => renew(accountId, refused),
  });

  return {
    of,
    async refresh(accountId, version) {
      await grantOf(accountId).flight.newerThan(version);
    },
  };
}

function isUsable({ expiresAt }: TokenPair, now: number): boolean {
  return expiresAt === null || expiresAt - now > USABLE_MS;
}
