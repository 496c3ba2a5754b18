import {
  createSingleFlightRefresh,
  type SingleFlightRefresh,
  type Versioned,
} from '../../patterns/single-flight-refresh.ts';
import type { Database } from '../../runtime/database/database.ts';
import { equalSecrets } from '../../runtime/sealing/equal-secrets.ts';
import type { CredentialSource } from '../accounts/credential-source.ts';
import type { TokenPair } from './grant-store.ts';
import { ReauthRequired } from './oauth-errors.ts';
import { loadTokens, type RefreshGrantOptions, refreshGrant } from './refresh-grant.ts';

/** A token that ends sooner is not used any more: it would be refused on the way. */
const USABLE_MS = 30_000;
/** Tokens in memory are read again after this, so that a new consent of another process is seen. */
const FRESH_MS = 5_000;

/** The access tokens of all grants, in one process. */
export interface GrantCredentials {
  /** The credential of an account of kind `oauth`. */
  of(accountId: string): CredentialSource;
  /** The credential of an app's subscription: that of any account of it whose grant stands and covers events. */
  ofSubscription(subscriptionId: string): CredentialSource;
  /** Refreshes a version, if nobody has yet. Throws what refreshing throws. */
  refresh(accountId: string, version: number): Promise<void>;
}

interface Held {
  readonly flight: SingleFlightRefresh<TokenPair>;
  known: { readonly pair: Versioned<TokenPair>; readonly readAt: number } | undefined;
}

/** Makes the one place in a process through which tokens are read and refreshed. Implements `OAuth 2.0`. */
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
    ofSubscription(subscriptionId) {
      let chosen: Promise<string> | undefined;
      const choose = (): Promise<string> => (chosen ??= chooseAccount(options.database, subscriptionId));
      return {
        authorization: async () => await authorization(await choose()),
        renew: async (refused) => await renew(await choose(), refused),
      };
    },
    async refresh(accountId, version) {
      await grantOf(accountId).flight.newerThan(version);
    },
  };
}

function isUsable({ expiresAt }: TokenPair, now: number): boolean {
  return expiresAt === null || expiresAt - now > USABLE_MS;
}

/** One whose scope is not known may do. */
async function chooseAccount(database: Database, subscriptionId: string): Promise<string> {
  const [row] = await database.query<{ id: string }>(
    `select a.id from connector.accounts a join connector.oauth_grants g on g.account_id = a.id
      where a.subscription_id = $1 and g.ended_at is null
      order by coalesce('messaging.events' = any(string_to_array(g.scope, ' ')), true) desc, a.created_at, a.id
      limit 1`,
    [subscriptionId],
  );
  if (row === undefined) throw new ReauthRequired();
  return row.id;
}
