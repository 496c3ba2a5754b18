import type { Clock } from '../../runtime/clock/clock.ts';
import type { Queryable } from '../../runtime/database/database.ts';
import type { FetchFile } from './lane-context.ts';

const DEADLINE_MS = 60_000;
/** What the largest base64 of a send holds, and a little more, so that a larger file is known to be another. */
const LARGEST_BYTES = 12 * 1024 * 1024 + 1_024;

/**
 * Fetches files of messages from the services themselves: an address elsewhere is refused, since anybody could
 * have put it there, and so is a redirect. Bounded in size and time; carries no credential.
 */
export function createOwnFileFetch(options: {
  readonly database: Queryable;
  readonly clock: Clock;
}): FetchFile {
  const { database, clock } = options;
  return async (url, signal) => {
    if (!(await readOrigins(database)).has(new URL(url).origin)) {
      throw new Error('the file is not at the service itself');
    }
    const deadline = new AbortController();
    const cancel = clock.after(DEADLINE_MS, () => deadline.abort(), { keepAlive: true });
    try {
      const response = await fetch(url, {
        redirect: 'error',
        signal: AbortSignal.any([signal, deadline.signal]),
      });
      if (!response.ok) throw new Error(`the file was answered ${response.status}`);
      return await readBytes(response);
    } finally {
      cancel();
    }
  };
}

async function readOrigins(database: Queryable): Promise<ReadonlySet<string>> {
  const rows = await database.query<{ baseUrl: string }>(
    'select distinct base_url as "baseUrl" from connector.accounts where base_url is not null',
  );
  return new Set(rows.map(({ baseUrl }) => new URL(baseUrl).origin));
}

async function readBytes(response: Response): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > LARGEST_BYTES) throw new Error('the file is too large');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
