import { pipeline } from 'node:stream/promises';
import type { Response } from 'express';
import { INERT } from '../../runtime/http-server/safe-headers.ts';
import type { OpenedFile } from './open-file.ts';
import { fileNameOf, safeTypeOf } from './safe-type.ts';

/** Nothing in a file may be executed, framed or cached, wherever it is opened. */
const SAFETY = {
  'Content-Security-Policy': `${INERT}; sandbox`,
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
  'Cache-Control': 'private, no-store',
} as const;

/**
 * Sends a file as an attachment. Its bytes are passed on as they arrive, at the speed of the reader. Rejects
 * if they end early: the response is then cut off, so that nobody mistakes a part for the whole.
 */
export async function serveMedia(
  response: Response,
  file: OpenedFile,
  message: { readonly id: string; readonly mediaType: string | null },
  headOnly: boolean,
): Promise<void> {
  const type = safeTypeOf(message.mediaType, file.contentType);
  // Not through express, which would add a charset to the type.
  response.setHeader('Content-Type', type.contentType);
  response.set({
    ...SAFETY,
    'Content-Disposition': `attachment; filename="${fileNameOf(message.id, type)}"`,
    ...(file.length === null ? {} : { 'Content-Length': String(file.length) }),
  });
  response.status(200);
  if (headOnly) response.end();
  else await pipeline(file.bytes, response);
}
