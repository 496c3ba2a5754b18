import jsqr from 'jsqr';
import { PNG } from 'pngjs';
import { expect } from 'vitest';

/** A picture as read by an independent library. */
export interface ReadPicture {
  readonly text: string;
  /** Pixels. */
  readonly side: number;
  /** Pixels of one module. */
  readonly moduleSize: number;
  /** White modules around the symbol. */
  readonly quietModules: number;
}

const HEAD = 'data:image/png;base64,';

/** First dark pixel from a corner, along the diagonal of the finder pattern. */
function firstDark({ data, width }: PNG): number {
  let at = 0;
  while (at < width && (data[(at * width + at) * 4] ?? 0) > 127) at += 1;
  return at;
}

/** How far the dark run extends from there: the ring of a finder pattern is 7 modules wide. */
function darkRun({ data, width }: PNG, from: number): number {
  let end = from;
  while (end < width && (data[(from * width + end) * 4] ?? 255) < 128) end += 1;
  return end - from;
}

/** Reads a data URI with a QR library that did not create it. Fails the test if it cannot. */
export function readQr(dataUri: unknown): ReadPicture {
  if (typeof dataUri !== 'string' || !dataUri.startsWith(HEAD)) throw new Error('no PNG as a data URI');
  const png = PNG.sync.read(Buffer.from(dataUri.slice(HEAD.length), 'base64'));
  const found = jsqr.default(new Uint8ClampedArray(png.data), png.width, png.height);
  expect(png.height).toBe(png.width);
  if (found === null) throw new Error('no QR symbol found');
  const edge = firstDark(png);
  const moduleSize = darkRun(png, edge) / 7;
  return { text: found.data, side: png.width, moduleSize, quietModules: edge / moduleSize };
}
