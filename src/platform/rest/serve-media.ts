import type { IRouter, Request, RequestHandler, Response } from 'express';
import { routeMethods } from '../../runtime/http-server/route-methods.ts';
import { INERT } from '../../runtime/http-server/safe-headers.ts';
import { strictRouter } from '../../runtime/http-server/strict-router.ts';
import type { Logger } from '../../runtime/logger/logger.ts';
import { answerOf, refusal, writeAnswer } from '../calls/answer.ts';
import { isIdentifier } from '../kernel/identifiers.ts';
import { PlatformError } from '../kernel/platform-error.ts';
import type { MediaFile, MediaStore } from '../media/media-store.ts';

/** Headers that prevent a file from being executed, framed or cached. */
const SAFETY = {
  'Content-Security-Policy': `${INERT}; sandbox`,
  'Cross-Origin-Resource-Policy': 'cross-origin',
  'Referrer-Policy': 'no-referrer',
  'Cache-Control': 'private, no-store',
} as const;

/** Names that a system would treat as a folder. */
const NO_NAME = /^\.*$/;
const FALLBACK = 'file';
/** Characters that RFC 5987 requires to be encoded, but `encodeURIComponent` does not encode. */
const ENCODED = /['()*]/g;

/** The last part of a path of any system, without characters that a header cannot contain. */
function safeName(filename: string): string {
  const last = filename.split(/[/\\]/).at(-1) ?? '';
  const visible = last.replace(/[\p{Cc}\p{Bidi_Control}]/gu, '').trim();
  return NO_NAME.test(visible) ? FALLBACK : visible;
}

/**
 * `Content-Disposition` of a file: an attachment, so that a browser saves it instead of executing it. The name has an
 * ASCII form for old clients and a UTF-8 form for all others (RFC 6266).
 */
function attachmentHeader(filename: string): string {
  const name = safeName(filename);
  const ascii = name.replace(/[^\x20-\x7e]/g, '_').replace(/["\\%]/g, '_');
  const encoded = encodeURIComponent(name).replace(
    ENCODED,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `attachment; filename="${ascii}"; filename*=UTF-8''${encoded}`;
}

/** Sends a file. */
async function sendFile(
  store: MediaStore,
  file: MediaFile,
  request: Request,
  response: Response,
): Promise<void> {
  // Before the headers: an error has its own.
  const bytes = request.method === 'HEAD' ? undefined : await store.read(file.id);
  // Set directly, because express would add a charset.
  response.setHeader('Content-Type', file.mimetype);
  response.set({
    ...SAFETY,
    'Content-Disposition': attachmentHeader(file.filename),
    'Content-Length': String(file.bytes),
  });
  response.end(bytes);
}

/**
 * Serves files at their public addresses, `/{id}` below the mount path, without a credential and without a listing.
 * Unknown and expired addresses have the same 404. [choice.media-url]
 */
export function serveMedia(store: MediaStore, logger: Logger): IRouter {
  const serve: RequestHandler = async (request, response) => {
    try {
      // Not decoded, because ids contain nothing that would be encoded.
      const id = request.path.slice(1);
      const file = isIdentifier(id) ? await store.find(id) : null;
      if (file === null) writeAnswer(response, refusal(new PlatformError('not_found')));
      else await sendFile(store, file, request, response);
    } catch (error) {
      // The client disconnected, or the database failed during the answer.
      if (response.destroyed) return;
      logger.error({ err: error }, 'a file could not be served');
      if (response.headersSent) response.destroy();
      else writeAnswer(response, answerOf(error));
    }
  };
  const router = strictRouter();
  routeMethods(
    router,
    /.*/,
    { GET: serve, HEAD: serve },
    {
      refuse: (_request, response) =>
        void writeAnswer(response, refusal(new PlatformError('method_not_allowed'))),
    },
  );
  return router;
}
