import type { NextFunction, Request, Response } from 'express';
import { ApiError } from './api-error.ts';

const RETRY_AFTER_MS = 1_000;
const FULL = 'Too many files are being taken at once; try again after `Retry-After`.';

export interface FileBound {
  /** Bodies up to this size pass uncounted. */
  readonly freeBytes: number;
  /** The largest body that the address takes. One that does not tell its size counts as much. */
  readonly largestBytes: number;
  /** Bytes of counted bodies that are in memory at a time. */
  readonly mostBytes: number;
}

/**
 * Bounds what large bodies take of a process's memory: a body is held until its request is answered, as bytes, as
 * text and decoded. One for which there is no room is refused before anything of it is kept; what follows of it is
 * read and dropped, so that the answer arrives.
 */
export function boundFiles({ freeBytes, largestBytes, mostBytes }: FileBound) {
  let held = 0;
  return (request: Request, response: Response, next: NextFunction): void => {
    const size = Math.min(readSize(request) ?? largestBytes, largestBytes);
    if (size > freeBytes) {
      if (held + size > mostBytes) {
        request.resume();
        throw new ApiError('unavailable', FULL, RETRY_AFTER_MS);
      }
      held += size;
      response.once('close', () => {
        held -= size;
      });
    }
    next();
  };
}

/** The size that the request tells; null when it comes in chunks. */
function readSize(request: Request): number | null {
  const told = request.headers['content-length'];
  if (told !== undefined) return Number(told);
  return request.headers['transfer-encoding'] === undefined ? 0 : null;
}
