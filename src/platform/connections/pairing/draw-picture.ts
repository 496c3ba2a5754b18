import { PNG } from 'pngjs';
import encodeQR from 'qr';

/** White modules around the symbol. The standard requires them: without them a phone does not find the symbol. */
const QUIET_MODULES = 4;
const PIXELS_PER_MODULE = 6;
const WHITE = 255;
const BLACK = 0;

/** The symbol in grey, one byte a pixel. */
function paint(modules: readonly (readonly boolean[])[]): { side: number; pixels: Buffer } {
  const side = modules.length * PIXELS_PER_MODULE;
  const pixels = Buffer.alloc(side * side, WHITE);
  for (const [y, row] of modules.entries()) {
    const top = y * PIXELS_PER_MODULE * side;
    for (const [x, isDark] of row.entries()) {
      if (!isDark) continue;
      const left = top + x * PIXELS_PER_MODULE;
      pixels.fill(BLACK, left, left + PIXELS_PER_MODULE);
    }
    for (let line = 1; line < PIXELS_PER_MODULE; line += 1) {
      pixels.copyWithin(top + line * side, top, top + side);
    }
  }
  return { side, pixels };
}

/**
 * A text as a QR code: a PNG as a data URI. It is drawn on every poll of every pairing, so it is fast: greyscale,
 * without filters, lightly compressed, about a millisecond. [connections.detail.qr]
 * [connections.created.qr]
 */
export function drawPicture(text: string): string {
  const modules = encodeQR(text, 'raw', { ecc: 'medium', encoding: 'alphanumeric', border: QUIET_MODULES });
  const { side, pixels } = paint(modules);
  const picture = new PNG({ width: side, height: side });
  picture.data = pixels;
  const bytes = PNG.sync.write(picture, {
    bitDepth: 8,
    colorType: 0,
    inputColorType: 0,
    inputHasAlpha: false,
    filterType: 0,
    deflateLevel: 1,
    deflateStrategy: 0,
  });
  return `data:image/png;base64,${bytes.toString('base64')}`;
}
