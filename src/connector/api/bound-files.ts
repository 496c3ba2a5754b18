import type { NextFunction, Request, Response } from 'express';
import { ApiError, RETRY_AFTER_MS } from './api-error.ts';

const FULL = 'Too many files are being uploaded at once; retry after `Retry-After`.';

export interface FileBound {
  /** Bodies up to this size are not counted. */
  readonly freeBytes: number;
  /** The largest body that the path accepts. A body of unknown size counts as one of this size. */
  readonly largestBytes: number;
  /** Bytes of counted bodies that may be in memory at the same time. */
  readonly maxBytes: number;
}

/**
 * Limits the memory of a process that large bodies use: a body is held until its request has been answered,
 * as bytes, as text and decoded. A body for which there is no room is rejected before any of it is stored;
 * the rest is read and discarded, so that the response arrives.
 */
export function boundFiles({ freeBytes, largestBytes, maxBytes }: FileBound) {
  let held = 0;
  return (request: Request, response: Response, next: NextFunction): void => {
    const size = Math.min(readSize(request) ?? largestBytes, largestBytes);
    if (size > freeBytes) {
      if (held + size > maxBytes) {
        request.resume();
        throw new ApiError('unavailable', FULL, RETRY_AFTER_MS.memory);
      }
      held += size;
      response.once('close', () => {
        held -= size;
      });
    }
    next();
  };
}

/** The size that the request declares; null if it is chunked. */
function readSize(request: Request): number | null {
  const declared = request.headers['content-length'];
  if (declared !== undefined) return Number(declared);
  return request.headers['transfer-encoding'] === undefined ? 0 : null;
}
