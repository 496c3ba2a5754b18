import type { OpenFile } from '../media/open-file.ts';
import type { FetchFile } from './queue-context.ts';

/**
 * Slightly more than the largest base64 of a send can contain, so that a larger file is known to be a different
 * one.
 */
const LARGEST_BYTES = 12 * 1024 * 1024 + 1_024;

/**
 * Fetches files of messages from the service of their account. Other addresses are refused, because a message
 * could name any. Throws what `openFile` throws, and if the file is too large.
 */
export function createOwnFileFetch(openFile: OpenFile): FetchFile {
  return async (from, signal) => {
    const file = await openFile({ ...from, signal, ownOnly: true });
    try {
      return await readAll(file.bytes);
    } finally {
      file.close();
    }
  };
}

async function readAll(source: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of source) {
    bytes += chunk.byteLength;
    if (bytes > LARGEST_BYTES) throw new Error('the file is too large');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
