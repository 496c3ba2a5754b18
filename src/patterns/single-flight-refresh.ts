/**
 * The rule: a refresh rotates the refresh token, and the old one becomes invalid at once. Therefore refreshes
 * are serialized, and after a 401 a client refreshes once and retries once.
 *
 * The mistake that this prevents: ten calls get a 401 for an expired access token, all ten refresh with the
 * same refresh token, one wins, and the other nine look like theft. Many servers then revoke all tokens.
 *
 * - Only one refresh is in flight, however many callers wait for it. They share its outcome, including a
 *   failure.
 * - Versions, not times, decide who is late: a caller passes the version that was rejected. If a newer one is
 *   already stored, by a refresh that has just finished or by another process, that one is used as it is.
 * - Nothing loops: a call that is rejected with the refreshed token as well fails.
 *
 * Reading, renewing and the lock between processes are passed in as functions.
 */

/** A token pair as it is stored. The version increases with each refresh. */
export interface Versioned<Token> {
  readonly version: number;
  readonly token: Token;
}

export interface RefreshIo<Token> {
  /** The pair as it is stored now. */
  load(): Promise<Versioned<Token>>;
  /**
   * Exchanges the pair for a new one at the server and stores it as the next version before it resolves: a
   * pair that is used before it is stored is lost if the process dies.
   */
  renew(stored: Versioned<Token>): Promise<Versioned<Token>>;
  /** Runs `work` while no other process does. Omit it if this process is the only one. */
  exclusively?<T>(work: () => Promise<T>): Promise<T>;
}

export interface SingleFlightRefresh<Token> {
  /** A pair newer than the version that was rejected. Throws what loading and renewing throw. */
  newerThan(refused: number): Promise<Versioned<Token>>;
  /**
   * Calls with the stored token and, if the response rejects it, once more with a newer one. The second
   * response is final. Throws what `call` throws, and what refreshing throws.
   */
  run<Answer>(
    call: (token: Token) => Promise<Answer>,
    isRefused: (answer: Answer) => boolean,
  ): Promise<Answer>;
}

/** Creates the one place through which a grant is refreshed: one per grant and process. */
export function createSingleFlightRefresh<Token>(io: RefreshIo<Token>): SingleFlightRefresh<Token> {
  let flight: Promise<Versioned<Token>> | null = null;

  /** Only the holder of the lock compares and renews: what it loads is what it renews. */
  async function renewUnlessNewer(refused: number): Promise<Versioned<Token>> {
    const work = async (): Promise<Versioned<Token>> => {
      const stored = await io.load();
      return stored.version > refused ? stored : await io.renew(stored);
    };
    return io.exclusively === undefined ? await work() : await io.exclusively(work);
  }

  async function newerThan(refused: number): Promise<Versioned<Token>> {
    // A refresh in flight may end with the very version that was rejected here: then it did not help.
    const joined = flight === null ? null : await flight;
    if (joined !== null && joined.version > refused) return joined;
    // [oauth.refresh.serialized]
    flight ??= renewUnlessNewer(refused).finally(() => {
      flight = null;
    });
    return await flight;
  }

  return {
    newerThan,
    async run(call, isRefused) {
      const stored = await io.load();
      const answer = await call(stored.token);
      if (!isRefused(answer)) return answer;
      const newer = await newerThan(stored.version); // [oauth.refresh.on-401]
      return await call(newer.token);
    },
  };
}
