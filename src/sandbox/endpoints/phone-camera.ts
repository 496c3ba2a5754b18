import { PNG } from 'pngjs';
import decodeQR from 'qr/decode.js';

/** Base64 after the head of the data URI. */
const DATA_URI = /^data:image\/png;base64,([A-Za-z0-9+/]+={0,2})$/;
/** Where the header of a PNG has width, height and the interlace method; 29 bytes hold them. */
const HEADER = { bytes: 29, width: 16, height: 20, interlace: 28 };
/** Larger than any screenshot of a picture; a small file can claim any size. */
const MAX_PIXELS = 4 * 1024 * 1024;
/** For a second scan of a picture in which the first finds nothing. */
const SECOND_LOOK_MS = 1_000;

function readPixels(bytes: Buffer): PNG | null {
  if (bytes.length < HEADER.bytes) return null;
  const pixels = bytes.readUInt32BE(HEADER.width) * bytes.readUInt32BE(HEADER.height);
  // An interlaced one is inflated without bounds by the reader.
  if (pixels > MAX_PIXELS || bytes[HEADER.interlace] !== 0) return null;
  return PNG.sync.read(bytes);
}

/**
 * What a phone reads from a picture, given as a data URI: the text of its QR symbol. Null for anything other than a PNG,
 * or shows no symbol that can be read.
 */
export function scanPicture(dataUri: string): string | null {
  const base64 = DATA_URI.exec(dataUri)?.[1];
  if (base64 === undefined) return null;
  try {
    const picture = readPixels(Buffer.from(base64, 'base64'));
    if (picture === null) return null;
    const { width, height, data } = picture;
    return decodeQR({ width, height, data }, { format: 'RGBA', timeLimit: SECOND_LOOK_MS });
  } catch {
    return null;
  }
}
