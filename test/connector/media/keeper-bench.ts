import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { commitBatch } from '../../../src/connector/db/commit-batch.ts';
import { setMediaKeeping } from '../../../src/connector/db/media-copies.ts';
import type { StoredCopy } from '../../../src/connector/db/message-tables.ts';
import { createDiskStore } from '../../../src/connector/media/disk-store.ts';
import { createMediaKeeper } from '../../../src/connector/media/media-keeper.ts';
import type { MediaStore } from '../../../src/connector/media/media-store.ts';
import type { FileUnavailable } from '../../../src/connector/media/open-file.ts';
import { createPresence, type Presence } from '../../../src/connector/work/presence.ts';
import type { Worker } from '../../../src/connector/work/worker.ts';
import type { Database } from '../../../src/runtime/database/database.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { emptyTables, readAllChanges, received, silentLogger } from '../support/event-fixtures.ts';
import { ManualNotifier } from '../support/manual-notifier.ts';

/** Processes that keep files, without the rest of a connector. */
export class KeeperBench {
  readonly database: Database;
  readonly clock = new ManualClock();
  readonly folder = mkdtempSync(join(tmpdir(), 'messaging-connector-media-'));
  readonly disk = createDiskStore(this.folder);
  /** The file at the service, or why there is none. */
  file: string | FileUnavailable = 'bytes';
  /** Called before the service answers with the file. */
  onFetch: (url: string) => Promise<void> = async () => undefined;
  /** What is done with the service and the store, in order. */
  log: string[] = [];
  /** How often the feed was told of changes. */
  told = 0;
  /** Files of the service that nobody has closed. */
  #open = 0;
  #running: { keeper: Worker; presence: Presence }[] = [];

  private constructor(database: Database) {
    this.database = database;
  }

  /** Forgets what earlier tests have written. */
  static async open(database: Database): Promise<KeeperBench> {
    await emptyTables(database);
    await setMediaKeeping(database, true);
    return new KeeperBench(database);
  }

  /** A message with a file. */
  async receive(messageId: string, connectionId = 'c1'): Promise<void> {
    const mediaUrl = `https://files.example/${connectionId}`;
    const file = { text: null, mediaUrl, mediaType: 'image/png' };
    const messages = [received(connectionId, messageId, file)];
    await commitBatch(this.database, { now: this.clock.now(), messages, via: 'test' });
  }

  /** A process that keeps files, in `disk` unless told otherwise. */
  async start(
    database = this.database,
    store: Partial<MediaStore> = {},
  ): Promise<{ keeper: Worker; presence: Presence }> {
    const base = { database, clock: this.clock, logger: silentLogger };
    const presence = createPresence({ ...base, works: true });
    const keeper = createMediaKeeper({
      ...base,
      presence,
      notifier: new ManualNotifier(),
      random: () => 0,
      onCommitted: () => {
        this.told += 1;
      },
      openFile: async ({ url }) => {
        this.log.push('fetch');
        await this.onFetch(url);
        if (typeof this.file !== 'string') throw this.file;
        const file = Buffer.from(this.file);
        this.#open += 1;
        return {
          contentType: 'image/png',
          length: file.length,
          bytes: (async function* () {
            yield file;
          })(),
          close: () => {
            this.#open -= 1;
          },
        };
      },
      store: {
        ...this.disk,
        put: (...args) => {
          this.log.push(`put ${args[0]}`);
          return this.disk.put(...args);
        },
        ...store,
      },
    });
    this.#running.push({ keeper, presence });
    await presence.start();
    await keeper.start();
    return { keeper, presence };
  }

  /** All processes are taken for dead. */
  async buryAll(): Promise<void> {
    for (const { presence } of this.#running.splice(0))
      await this.database.query('delete from connector.processes where id = $1', [presence.id]);
  }

  async read(messageId = 'm1'): Promise<StoredCopy | null> {
    const [row] = await this.database.query<{ copy: StoredCopy | null }>(
      'select media_copy as copy from connector.messages where id = $1',
      [messageId],
    );
    return row?.copy ?? null;
  }

  /** Types of the changes of messages, in order. */
  async readChanges(): Promise<string[]> {
    const types = (await readAllChanges(this.database)).map(({ type }) => type);
    return types.filter((type) => type.startsWith('message.'));
  }

  async close(): Promise<void> {
    for (const { keeper, presence } of this.#running) {
      await keeper.close().catch(() => undefined);
      await presence.stop().catch(() => undefined);
    }
    rmSync(this.folder, { recursive: true, force: true });
    if (this.#open > 0) throw new Error('a file of the service is still open');
  }
}
