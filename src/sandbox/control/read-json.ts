import express, { type ErrorRequestHandler, type RequestHandler } from 'express';
import { foreignCharset } from '../../runtime/http-server/charset.ts';
import { SandboxError } from './sandbox-error.ts';

/** A little more than the largest media object of a message. */
const LARGEST_BODY = '20mb';

const readBody = express.json({ limit: LARGEST_BODY, strict: false, type: 'application/json' });

/** Errors of the body parser are errors of the request: its size, encoding, JSON or early end. */
function refuseBody(error: unknown): SandboxError {
  const type: unknown = error instanceof Error ? Reflect.get(error, 'type') : undefined;
  if (type === 'entity.too.large') return new SandboxError('payload_too_large');
  return new SandboxError(
    'invalid_request',
    'The body is not valid JSON, or not encoded as its headers state.',
  );
}

/** Reads the body of a call. */
export const readJson: RequestHandler = (request, response, next) => {
  const type = request.headers['content-type'];
  const charset = foreignCharset(type);
  if (charset !== null)
    throw new SandboxError(
      'invalid_request',
      `The body must be JSON in UTF-8, but its charset is ${charset}.`,
    );
  // The parser knows only one spelling of UTF-8.
  if (type !== undefined) request.headers['content-type'] = type.replace(/;.*$/s, '');
  readBody(request, response, (error?: unknown) => next(error === undefined ? undefined : refuseBody(error)));
};

/** Turns what the router throws at an address into a refusal. */
export const refuseMalformed: ErrorRequestHandler = (error, _request, _response, next) => {
  if (error instanceof URIError) {
    next(new SandboxError('invalid_request', 'The path contains an invalid percent-encoding.'));
  } else next(error);
};
