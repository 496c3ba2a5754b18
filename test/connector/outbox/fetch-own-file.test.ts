import { describe, expect, it } from 'vitest';
import type { OpenFileRequest } from '../../../src/connector/media/open-file.ts';
import { createOwnFileFetch } from '../../../src/connector/outbox/fetch-own-file.ts';

const signal = new AbortController().signal;

/** Opens files of these pieces, and remembers what was asked for and let go. */
function opener(pieces: readonly Uint8Array[]) {
  const asked: OpenFileRequest[] = [];
  const seen = { closed: 0, pieces: 0 };
  async function* bytes() {
    for (const piece of pieces) {
      seen.pieces += 1;
      yield piece;
    }
  }
  const fetchFile = createOwnFileFetch(async (request) => {
    asked.push(request);
    const close = (): void => {
      seen.closed += 1;
    };
    return { contentType: null, length: null, bytes: bytes(), close };
  });
  return { fetchFile, asked, seen };
}

const FROM = { url: 'https://service.example/media/1', accountId: 'a1' };

describe('a file of a message', () => {
  it('is read completely, and only from the service itself', async () => {
    const { fetchFile, asked, seen } = opener([Buffer.from('by'), Buffer.from('tes')]);
    const bytes = await fetchFile(FROM, signal);
    expect(Buffer.from(bytes).toString()).toBe('bytes');
    expect(asked).toEqual([{ ...FROM, signal, ownOnly: true }]);
    expect(seen.closed).toBe(1);
  });

  it('is not read beyond the maximum size of a send', async () => {
    const piece = Buffer.alloc(4 * 1024 * 1024);
    const { fetchFile, seen } = opener(Array(5).fill(piece));
    await expect(fetchFile(FROM, signal)).rejects.toThrow('too large');
    expect(seen).toEqual({ closed: 1, pieces: 4 });
  });
});
