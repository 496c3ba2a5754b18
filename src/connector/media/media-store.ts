import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';

/**
 * A file in memory, complete. In pieces, as it arrived: to put 16 MB together, or to copy them, would hold up the process
 * for up to 60 ms.
 */
export interface WholeFile {
  readonly pieces: readonly Uint8Array[];
  /** In bytes. */
  readonly size: number;
  /** Hexadecimal digits. */
  readonly sha256: string;
  /** One that nothing executes: see `safeTypeOf`. */
  readonly contentType: string;
}

/** What the reader of a file is told. */
export interface FileHead {
  readonly contentType: string;
  readonly disposition: string;
}

/** How a file can be read: an address that is valid for some minutes, or the bytes. Whoever opens them destroys them. */
export type ReadableFile =
  | { readonly url: string }
  | { readonly size: number; readonly open: () => Readable };

/** The store of files does not answer, or refuses. Whatever was asked can be asked again. */
export class StoreFailure extends Error {
  override readonly name = 'StoreFailure';
}

/** The store refuses this object and takes others. Nothing of it is stored. */
export class ObjectRefused extends StoreFailure {}

/**
 * Keeps files under their keys. It is complete or absent whatever interrupts a write, and writing the same file again
 * changes nothing. Each function throws a `StoreFailure`.
 */
export interface MediaStore {
  /** Writes, reads and removes an object. Throws a `ConfigurationError` that names the setting that is wrong. */
  check(): Promise<void>;
  /** Throws an `ObjectRefused` if only this object is refused. */
  put(key: string, file: WholeFile, signal: AbortSignal): Promise<void>;
  /** In bytes; null if there is no such file. */
  sizeOf(key: string): Promise<number | null>;
  /** Null if the store is the place of the bytes, and has no such file. */
  read(key: string, head: FileHead): Promise<ReadableFile | null>;
  /** Also if there is no such file, and what an interrupted write has left. */
  remove(key: string): Promise<void>;
}

/** Ids of the service, which may be any text. What is no name of a file in every system is replaced by its hash. */
function partOf(id: string): string {
  return /^[\w-]{1,100}$/.test(id) ? id : createHash('sha256').update(id).digest('hex').slice(0, 32);
}

/** The key of a file: `account/connection/yyyy/mm/message-sha8`, in UTC. */
export function keyOf(
  message: {
    readonly accountId: string;
    readonly connectionId: string;
    readonly id: string;
    readonly createdAt: number;
  },
  sha256: string,
): string {
  const created = new Date(message.createdAt);
  return [
    partOf(message.accountId),
    partOf(message.connectionId),
    String(created.getUTCFullYear()),
    String(created.getUTCMonth() + 1).padStart(2, '0'),
    `${partOf(message.id)}-${sha256.slice(0, 8)}`,
  ].join('/');
}
