import { crc32 } from 'node:zlib';

const PREFIX = 'data:image/png;base64,';
const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

/** A complete PNG. */
export interface Png {
  readonly width: number;
  readonly height: number;
  readonly bytes: Buffer;
}

/** Reads a data URI as a PNG: signature, header, image data, end, and the checksum of every chunk. */
export function readPng(uri: unknown): Png | string {
  if (typeof uri !== 'string' || !uri.startsWith(PREFIX)) return 'not a data URI of a PNG';
  const bytes = Buffer.from(uri.slice(PREFIX.length), 'base64');
  if (!bytes.subarray(0, 8).equals(SIGNATURE)) return 'bytes that do not start like a PNG';
  const kinds: string[] = [];
  for (let at = 8; at < bytes.length; ) {
    if (at + 12 > bytes.length) return 'a truncated PNG';
    const length = bytes.readUInt32BE(at);
    const end = at + 12 + length;
    if (end > bytes.length) return 'a truncated PNG';
    if (crc32(bytes.subarray(at + 4, end - 4)) !== bytes.readUInt32BE(end - 4)) {
      return 'a PNG with a wrong checksum';
    }
    kinds.push(bytes.toString('latin1', at + 4, at + 8));
    at = end;
  }
  if (kinds[0] !== 'IHDR' || !kinds.includes('IDAT') || kinds.at(-1) !== 'IEND')
    return 'a PNG without an image';
  const [width, height] = [bytes.readUInt32BE(16), bytes.readUInt32BE(20)];
  // The smallest QR code has 21 modules per side.
  if (width < 21 || width !== height) return `an image of ${width} by ${height}, which contains no code`;
  return { width, height, bytes };
}
