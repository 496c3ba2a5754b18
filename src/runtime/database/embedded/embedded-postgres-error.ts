/** The embedded Postgres cannot be used here. The message states why, and names the alternative. */
export class EmbeddedPostgresFailed extends Error {
  override readonly name = 'EmbeddedPostgresFailed';

  constructor(what: string, cause?: unknown) {
    super(
      `${what} (or set DATABASE_URL to your own Postgres 15 or newer)`,
      cause === undefined ? {} : { cause },
    );
  }
}
