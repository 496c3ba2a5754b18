import type { IncomingHttpHeaders } from 'node:http';
import express, { type ErrorRequestHandler, type RequestHandler } from 'express';
import { SandboxError } from './sandbox-error.ts';

/** A little more than the largest media object of a message. */
const LARGEST_BODY = '20mb';

const readBody = express.json({ limit: LARGEST_BODY, strict: false, type: 'application/json' });

function hasBody(headers: IncomingHttpHeaders): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

function isJson(type: string | undefined): boolean {
  return type?.split(';')[0]?.trim().toLowerCase() === 'application/json';
}

/**
 * Takes JSON alone. A form of another site cannot send that type without asking first; a write without any
 * body may go without a type.
 */
const demandJson: RequestHandler = (request, _response, next) => {
  const type = request.headers['content-type'];
  const reads = request.method === 'GET' || request.method === 'HEAD';
  if (!reads && (type !== undefined || hasBody(request.headers)) && !isJson(type)) {
    throw new SandboxError('unsupported_media_type');
  }
  next();
};

/** Reads the body of a write. */
export const readJson: RequestHandler[] = [demandJson, readBody];

/** Turns what express itself throws at a request into refusals. */
export const refuseMalformed: ErrorRequestHandler = (error, _request, _response, next) => {
  const type = typeof error === 'object' && error !== null && 'type' in error ? error.type : undefined;
  if (type === 'entity.too.large') next(new SandboxError('payload_too_large'));
  else if (typeof type === 'string') next(new SandboxError('invalid_request', 'The body is no JSON.'));
  else if (error instanceof URIError) {
    next(new SandboxError('invalid_request', 'The address is not encoded as it must be.'));
  } else next(error);
};
