import type { NextFunction, Request, Response } from 'express';
import { createMemoryBudget } from '../../runtime/http-server/memory-budget.ts';
import { ApiError, RETRY_AFTER_MS } from './api-error.ts';

const FULL = 'Too many files are being uploaded at once; retry after `Retry-After`.';

export interface FileBound {
  /** Of each body, this much is not counted. */
  readonly freeBytes: number;
  /** The largest body that the path accepts. A body of unknown size counts as one of this size. */
  readonly largestBytes: number;
  /** Counted bytes that may be in memory at the same time. */
  readonly maxBytes: number;
}

/**
 * Limits the memory of a process that large bodies use: a body is held until its request has been answered,
 * as bytes, as text and decoded. A body for which there is no room is rejected before any of it is stored;
 * the rest is read and discarded, so that the response arrives.
 */
export function boundFiles({ freeBytes, largestBytes, maxBytes }: FileBound) {
  const budget = createMemoryBudget(maxBytes, freeBytes);
  return (request: Request, response: Response, next: NextFunction): void => {
    const share = budget.enter(() => {
      request.resume();
      throw new ApiError('unavailable', FULL, RETRY_AFTER_MS.memory);
    });
    share.grow(Math.min(readSize(request) ?? largestBytes, largestBytes));
    response.once('close', share.leave);
    next();
  };
}

/** The size that the request declares; null if it is chunked. */
function readSize(request: Request): number | null {
  const declared = request.headers['content-length'];
  if (declared !== undefined) return Number(declared);
  return request.headers['transfer-encoding'] === undefined ? 0 : null;
}
