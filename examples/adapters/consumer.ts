/** What the adapters share: an HTTP consumer of the connector, and the table of what they have created. */
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { DatabaseSync } from 'node:sqlite';
import { HTTPError } from 'ky';
import type { Change } from 'messaging-connector';
import { Webhook } from 'standardwebhooks';

/** A message and its texts. */
export type MessageChange = Extract<Change, { type: 'message.created' | 'message.updated' }>;

/** A setting of the environment. The program ends if it is missing. */
export function setting(name: string, otherwise?: string): string {
  const value = process.env[name] ?? otherwise;
  if (value !== undefined) return value;
  process.stderr.write(`set ${name}\n`);
  process.exit(2);
}

/**
 * What was created elsewhere, by the id that it has here. A row without `theirs` was begun: if its answer was lost, it
 * may exist. A row with an error was refused for good.
 */
export class Created {
  readonly #database: DatabaseSync;

  constructor(file: string) {
    this.#database = new DatabaseSync(file);
    this.#database.exec(`PRAGMA busy_timeout = 5000;
      CREATE TABLE IF NOT EXISTS created (kind TEXT, ours TEXT, theirs TEXT, error TEXT, PRIMARY KEY (kind, ours))`);
  }

  /** Their id; null if it is not known, undefined if nothing was begun. */
  find(kind: string, ours: string): string | null | undefined {
    const row = this.#database
      .prepare('SELECT coalesce(theirs, error) AS id FROM created WHERE kind = ? AND ours = ?')
      .get(kind, ours);
    return row && (row['id'] as string | null);
  }

  begin(kind: string, ours: string): void {
    this.#database.prepare('INSERT OR IGNORE INTO created (kind, ours) VALUES (?, ?)').run(kind, ours);
  }

  /** Nothing was created. */
  forget(kind: string, ours: string): void {
    this.#database.prepare('DELETE FROM created WHERE kind = ? AND ours = ?').run(kind, ours);
  }

  /** Somebody may have deleted it there, so it is looked for again. */
  doubt(kind: string, ours: string): void {
    this.#database.prepare('UPDATE created SET theirs = NULL WHERE kind = ? AND ours = ?').run(kind, ours);
  }

  end(kind: string, ours: string, { id, error }: { readonly id?: string; readonly error?: string }): void {
    this.#database
      .prepare('INSERT OR REPLACE INTO created VALUES (?, ?, ?, ?)')
      .run(kind, ours, id ?? null, error ?? null);
  }

  /** The CRM does not take it. A person looks at it. */
  refuse(kind: string, ours: string, refusal: HTTPError): void {
    const message = messageOf(refusal);
    this.end(kind, ours, { error: message });
    process.stderr.write(`${ours} was refused: ${message}\n`);
  }

  /** Their id, which is looked for if an earlier answer was lost, and made if there is none. */
  async ensure(
    kind: string,
    ours: string,
    { look, make }: { look(): Promise<string | undefined>; make(): Promise<string> },
    looksFirst = false,
  ): Promise<string> {
    const known = this.find(kind, ours);
    if (typeof known === 'string') return known;
    let id = known === null || looksFirst ? await look() : undefined;
    if (id === undefined) {
      this.begin(kind, ours);
      id = await make().catch((error: unknown) => {
        if (isRefusal(error)) this.forget(kind, ours);
        throw error;
      });
    }
    this.end(kind, ours, { id });
    return id;
  }
}

/** What an answer says about the error. */
export function messageOf(refusal: HTTPError): string {
  const data = (refusal.data ?? {}) as { message?: string; messages?: readonly string[] };
  return data.message ?? data.messages?.[0] ?? refusal.message;
}

/** Whether an answer says that something does not exist, such as what somebody has deleted. */
export function isMissing(error: unknown): boolean {
  return error instanceof HTTPError && error.response.status === 404;
}

/** Whether an answer says that what was sent is invalid, so that it will never be taken. */
export function isInvalid(error: unknown): error is HTTPError {
  return error instanceof HTTPError && [400, 422].includes(error.response.status);
}

/** The messages of these changes, each as the last of them has it, that can be written into a CRM. */
export function messagesOf(changes: readonly Change[]): readonly MessageChange[] {
  const messages = new Map<string, MessageChange>();
  for (const change of changes) {
    if (change.type !== 'message.created' && change.type !== 'message.updated') continue;
    const { peer, text, mediaType, origin } = change.data;
    // Without a sender it belongs to nobody yet, and a file that was sent has no name. message.updated names them.
    const isUnnamed = origin === 'connector' && text === null && mediaType === null;
    if (peer !== null && !isUnnamed) messages.set(change.messageId, change);
  }
  return [...messages.values()];
}

/** Writes those of these messages that are new, one after the other. One that is invalid holds back no other. */
export async function writeEach(
  created: Created,
  changes: readonly Change[],
  write: (change: MessageChange) => Promise<unknown>,
): Promise<void> {
  for (const change of messagesOf(changes)) {
    if (created.find('message', change.messageId)) continue;
    await write(change).catch((error: unknown) => {
      if (!isInvalid(error)) throw error;
      created.refuse('message', change.messageId, error);
    });
  }
}

/** Whether an answer says that nothing was done. */
export function isRefusal(error: unknown): error is HTTPError {
  return error instanceof HTTPError && error.response.status < 500;
}

/**
 * Serves an HTTP consumer whose requests `take` processes, one at a time. What it throws is answered with a 500, so that
 * the changes come again; a 429 or 503 of the CRM with its `Retry-After`, so that the connector waits.
 */
export function serve(take: (changes: readonly Change[]) => Promise<void>): void {
  const webhook = new Webhook(setting('CONSUMER_SECRET'));
  let last: Promise<unknown> = Promise.resolve();

  async function answer(request: IncomingMessage): Promise<readonly [number, string?]> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = Buffer.concat(chunks).toString();
    try {
      webhook.verify(body, request.headers as Record<string, string>);
    } catch {
      return [401];
    }
    const content = JSON.parse(body) as { change: Change; changes?: readonly { change: Change }[] };
    const changes = content.changes?.map(({ change }) => change) ?? [content.change];
    const mine = last.then(() => take(changes));
    last = mine.catch(() => undefined);
    try {
      await mine;
      return [204];
    } catch (error) {
      process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
      const { status = 0, headers } = error instanceof HTTPError ? error.response : {};
      if (status === 429 || status === 503) return [503, headers?.get('retry-after') ?? '10'];
      return [500];
    }
  }

  const server = createServer(async (request, response) => {
    const [status, retryAfter] = await answer(request).catch(() => [500] as const);
    response.writeHead(status, retryAfter === undefined ? {} : { 'retry-after': retryAfter }).end();
  });
  server.listen(Number(setting('PORT', '3000')), '127.0.0.1', () => {
    process.stdout.write(`receiving at http://127.0.0.1:${(server.address() as AddressInfo).port}/changes\n`);
  });
}
