/** The embedded Postgres cannot be used here. The message says why, and names the alternative. */
export class EmbeddedPostgresFailed extends Error {
  override readonly name = 'EmbeddedPostgresFailed';

  constructor(what: string, cause?: unknown) {
    super(
      `${what} (or set DATABASE_URL to a Postgres 15 or newer of your own)`,
      cause === undefined ? {} : { cause },
    );
  }
}
