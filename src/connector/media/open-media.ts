import type { Clock } from '../../runtime/clock/clock.ts';
import { DeadlinePassed, within } from '../../runtime/clock/deadline.ts';
import { setMediaKeeping } from '../db/media-copies.ts';
import type { Worker } from '../work/worker.ts';
import { createDiskStore } from './disk-store.ts';
import { createMediaKeeper, type MediaKeeperOptions } from './media-keeper.ts';
import { type MediaStore, StoreFailure } from './media-store.ts';
import { createS3Store, type S3Settings } from './s3-store.ts';

/** Where files are kept. */
export type MediaStoreSettings =
  | { readonly kind: 'disk'; readonly folder: string }
  | ({ readonly kind: 's3' } & S3Settings);

/** A store that does not answer must not delay the receiver for longer. */
const CHECKED_WITHIN_MS = 10_000;

export interface Media {
  /** Null: no files are kept. */
  readonly store: MediaStore | null;
  /** Null if this process keeps none. */
  readonly keeper: Worker | null;
}

/**
 * Opens the store of the settings and tries it. If it does not answer, files wait. A process that works decides for all
 * whether files are kept. Throws a `ConfigurationError` if the store refuses the settings, and as `query` does.
 */
export async function openMedia(
  options: Omit<MediaKeeperOptions, 'store'> & {
    readonly settings: MediaStoreSettings | undefined;
    readonly works: boolean;
  },
): Promise<Media> {
  const { settings, works, clock, database, logger } = options;
  const store = settings === undefined ? null : openStore(settings, clock);
  try {
    if (store !== null) await within(clock, CHECKED_WITHIN_MS, store.check());
  } catch (err) {
    if (!(err instanceof StoreFailure || err instanceof DeadlinePassed)) throw err;
    logger.warn({ err }, 'the store of files does not work yet; files wait');
  }
  if (works) await setMediaKeeping(database, store !== null);
  return { store, keeper: store !== null && works ? createMediaKeeper({ ...options, store }) : null };
}

function openStore(settings: MediaStoreSettings, clock: Clock): MediaStore {
  return settings.kind === 'disk' ? createDiskStore(settings.folder) : createS3Store(settings, clock);
}
