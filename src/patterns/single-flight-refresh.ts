/**
 * The rule: refreshing rotates, the old refresh token is void at once. So refreshes are serialized, and after
 * a 401 a client refreshes once and retries once.
 *
 * The mistake that this prevents: ten calls meet an expired access token, all ten refresh with the same
 * refresh token, one wins, and the other nine look like a thief's. Many servers then revoke all of them.
 *
 * - One refresh is on the wire, however many callers wait for it. They share its outcome, a failure too.
 * - Versions, not times, say who is late: a caller names the version that was refused. If a newer one is
 *   stored already, by a refresh that ended a moment ago or by another process, that one is used as it is.
 * - Nothing loops: a call that is refused with the refreshed token as well is refused.
 *
 * Reading, renewing and the lock over processes come in as functions.
 */

/** A token pair as it is stored. The version rises with each refresh. */
export interface Versioned<Token> {
  readonly version: number;
  readonly token: Token;
}

export interface RefreshIo<Token> {
  /** The pair as it is stored now. */
  load(): Promise<Versioned<Token>>;
  /**
   * Exchanges the pair for a new one on the wire and stores it as the next version before it resolves: a pair
   * that is used before it is stored is lost with the process.
   */
  renew(stored: Versioned<Token>): Promise<Versioned<Token>>;
  /** Runs `work` while no other process does. Left out: this process is the only one. */
  exclusively?<T>(work: () => Promise<T>): Promise<T>;
}

export interface SingleFlightRefresh<Token> {
  /** A pair newer than the version that was refused. Throws what loading and renewing throw. */
  newerThan(refused: number): Promise<Versioned<Token>>;
  /**
   * Calls with the stored token and, if the answer is a refusal of it, once more with a newer one. The second
   * answer stands, whatever it is. Throws what `call` throws, and what refreshing throws.
   */
  run<Answer>(
    call: (token: Token) => Promise<Answer>,
    isRefused: (answer: Answer) => boolean,
  ): Promise<Answer>;
}

/** Makes the one place through which a grant is refreshed. One for each grant and process. */
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
    // One that is under way may end with the very version that was refused here: then it was no use.
    const joined = flight === null ? null : await flight;
    if (joined !== null && joined.version > refused) return joined;
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
      const newer = await newerThan(stored.version);
      return await call(newer.token);
    },
  };
}
