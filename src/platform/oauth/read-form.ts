import type { Request } from 'express';
import { readBytes, requirePlain } from '../calls/read-body.ts';
import { passed } from '../kernel/decision-trace.ts';
import { PlatformError } from '../kernel/platform-error.ts';
import { OauthError } from './oauth-error.ts';
import { type Parameters, readParameters } from './parameters.ts';

const MAX_BYTES = 16 * 1024;
/** Only UTF-8: in another charset, the same bytes would be different text. */
const FORM = /^application\/x-www-form-urlencoded\s*(;\s*charset=(utf-?8|"utf-?8")\s*)?$/i;

async function readText(request: Request): Promise<string> {
  try {
    requirePlain(request);
    return (await readBytes(request, MAX_BYTES)).toString('utf8');
  } catch (error) {
    if (!(error instanceof PlatformError)) throw error;
    throw new OauthError('invalid_request', 'the body is too large, compressed or incomplete', 'form');
  }
}

/**
 * The parameters of a form in the body. Only those in `lists` may be repeated. A query is refused, because URLs are
 * logged (RFC 6749, 2.3.1). Throws `invalid_request`.
 */
export async function readForm(request: Request, lists: readonly string[] = []): Promise<Parameters> {
  const [type = '', second] = request.headersDistinct['content-type'] ?? [];
  if (second !== undefined || !FORM.test(type)) {
    throw new OauthError(
      'invalid_request',
      'the body must be application/x-www-form-urlencoded in UTF-8',
      'form',
    );
  }
  if (request.originalUrl.includes('?')) {
    throw new OauthError('invalid_request', 'parameters belong in the body, not in the URL', 'form');
  }
  const parameters = readParameters(await readText(request));
  if (parameters.repeated.some((name) => !lists.includes(name))) {
    throw new OauthError('invalid_request', 'a parameter is given more than once', 'form');
  }
  passed('form');
  return parameters;
}
