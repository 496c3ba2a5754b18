import express from 'express';
import { PlatformError } from '../platform-error.ts';
import { refusal, writeAnswer } from './answer.ts';
import { NEUTRAL_PICTURE, NEUTRAL_PICTURE_PATH } from './neutral-picture.ts';
import type { CallServer } from './serve-calls.ts';

/** Path prefix of the REST interface. Implements `Versioning`. */
export const API_PREFIX = '/api/v1';

/** The service's HTTP face. Whatever is asked of it, a refusal is `{ error }`. */
export function createApp(calls: CallServer): express.Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.enable('case sensitive routing');
  app.set('query parser', false);
  app.set('trust proxy', false);

  app.use(API_PREFIX, (request, response) => calls.handle(request, response));
  app.get(NEUTRAL_PICTURE_PATH, (_request, response) => {
    response.type('image/svg+xml').send(NEUTRAL_PICTURE);
  });
  app.use((_request, response) => writeAnswer(response, refusal(new PlatformError('not_found'))));
  return app;
}
