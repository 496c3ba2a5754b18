import express, { type RequestHandler } from 'express';
import { describe, expect, it } from 'vitest';
import { routeMethods } from '../../../src/runtime/http-server/route-methods.ts';
import { listen } from '../../support/listen.ts';
import { ofFile } from '../../support/of-file.ts';

const say =
  (text: string): RequestHandler =>
  (request, response) =>
    void response.send(`${text} ${request.params['id'] ?? ''}`);
const refuse: RequestHandler = (_request, response) => void response.status(405).send('refused');

describe('a path with its methods', () => {
  const app = express();
  routeMethods(app, '/strict/:id', { GET: say('got'), DELETE: say('gone') }, { refuse });
  routeMethods(app, '/lenient', { GET: say('got') }, { refuse, headIsGet: true });
  const server = ofFile(
    () => listen(app),
    ({ drain }) => drain(0),
  );

  it.each([
    ['GET', '/strict/7', 200, null],
    ['DELETE', '/strict/7', 200, null],
    ['PUT', '/strict/7', 405, 'GET, DELETE'],
    ['HEAD', '/strict/7', 405, 'GET, DELETE'],
    ['OPTIONS', '/strict/7', 405, 'GET, DELETE'],
    ['HEAD', '/lenient', 200, null],
    ['POST', '/lenient', 405, 'GET'],
    ['GET', '/elsewhere', 404, null],
  ])('%s %s is answered %d, with Allow %s', async (method, path, status, allow) => {
    const answer = await fetch(`${server.url}${path}`, { method });
    expect([answer.status, answer.headers.get('allow')]).toEqual([status, allow]);
  });

  it('passes the path parameters on', async () => {
    expect(await (await fetch(`${server.url}/strict/7`)).text()).toBe('got 7');
  });
});
