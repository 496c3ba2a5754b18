import type { MediaObject, SendMessageRequest } from '../../contract/service/messages.ts';

/** A send whose file is bytes. */
export interface SentMessage extends Omit<SendMessageRequest, 'media'> {
  readonly media?: (Omit<MediaObject, 'data'> & { readonly data: Uint8Array }) | undefined;
}

/** JSON that is made while it is written. */
export interface StreamedBody {
  /** In bytes. */
  readonly length: number;
  /** The JSON from its beginning. */
  open(): ReadableStream<Uint8Array>;
}

/** Divisible by 3, so that only the last piece of base64 is padded. */
const PIECE_BYTES = 3 * 64 * 1024;
const END = '"}}';

/**
 * The body of a send with a file, of which only a piece is encoded at a time: the base64, the JSON and the copies of
 * an HTTP client are six times as large as the file, and they are kept until the answer.
 */
export function streamMessage({ media, ...message }: SentMessage): StreamedBody | undefined {
  if (media === undefined) return undefined;
  const { data, ...about } = media;
  const file = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  // The file comes last.
  const json = JSON.stringify({ ...message, media: { ...about, data: '' } });
  const head = Buffer.from(json.slice(0, -END.length));
  return {
    length: head.length + 4 * Math.ceil(file.length / 3) + END.length,
    open: () => ReadableStream.from(pieces(head, file)),
  };
}

function* pieces(head: Uint8Array, file: Buffer): Generator<Uint8Array> {
  yield head;
  for (let at = 0; at < file.length; at += PIECE_BYTES)
    yield Buffer.from(file.toString('base64', at, at + PIECE_BYTES), 'latin1');
  yield Buffer.from(END);
}
