import { timingSafeEqual } from 'node:crypto';
import type { Request } from 'express';
import type { Queryable } from '../../../runtime/database/database.ts';
import { passed, recognized } from '../../kernel/decision-trace.ts';
import { type App, findApp } from '../apps.ts';
import { OauthError } from '../oauth-error.ts';
import { hashOauthSecret } from '../oauth-secrets.ts';
import type { Parameters } from '../parameters.ts';

/**
 * The app that proves itself by `client_id` and `client_secret` in the form: the one way here. Throws
 * `invalid_client`, the same for an unknown app, one that is switched off and a wrong secret, and
 * `invalid_request` for two proofs at once. [oauth.client-auth]
 */
export async function authenticateClient(
  db: Queryable,
  request: Request,
  parameters: Parameters,
): Promise<App> {
  const secret = parameters.get('client_secret');
  if (request.headersDistinct['authorization'] !== undefined) {
    if (secret !== null)
      throw new OauthError('invalid_request', 'a client proves itself in one way only', 'client');
    throw new OauthError('invalid_client', 'a client proves itself by client_secret_post, not by a header');
  }
  const app = await findApp(db, parameters.get('client_id') ?? '');
  if (app !== null) recognized(app.id);
  if (app === null || secret === null || !timingSafeEqual(hashOauthSecret(secret), app.secretHash)) {
    throw new OauthError('invalid_client', 'the client is unknown, or its secret is missing or wrong');
  }
  passed('client');
  return app;
}
