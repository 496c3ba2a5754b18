import express, { type Express, type Response } from 'express';

/**
 * An express app for a JSON API. It does not name its software, computes no ETag, and ends each JSON body
 * with a line break, so that responses in a terminal do not run together.
 */
export function createJsonApp(): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.response.json = function json(this: Response, body?: unknown): Response {
    if (this.get('Content-Type') === undefined) this.set('Content-Type', 'application/json');
    return this.send(body === undefined ? '' : `${JSON.stringify(body)}\n`);
  };
  return app;
}
