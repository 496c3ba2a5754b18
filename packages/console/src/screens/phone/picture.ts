import { readDataUri } from '../../ui/composer.tsx';

/** Longest sides to try, in pixels, and the longest data URI that the sandbox decodes. */
const SIDES = [1_600, 1_000, 640] as const;
const LONGEST_URI = 1_048_576;

/** A picture of any format as a PNG in a data URI, no larger than the sandbox decodes. Rejects other files. */
export async function pictureOf(file: Blob): Promise<string> {
  const picture = await createImageBitmap(file).catch(() => {
    throw new Error('The file is not a picture that the browser can read.');
  });
  let uri = '';
  for (const side of SIDES) {
    const scale = Math.min(1, side / Math.max(picture.width, picture.height));
    const canvas = new OffscreenCanvas(Math.ceil(picture.width * scale), Math.ceil(picture.height * scale));
    const context = canvas.getContext('2d');
    if (context === null) throw new Error('The browser cannot draw the picture.');
    // Transparent pixels would become black.
    context.fillStyle = 'white';
    context.fillRect(0, 0, canvas.width, canvas.height);
    context.drawImage(picture, 0, 0, canvas.width, canvas.height);
    uri = await readDataUri(await canvas.convertToBlob({ type: 'image/png' }));
    if (uri.length <= LONGEST_URI) break;
  }
  return uri;
}
