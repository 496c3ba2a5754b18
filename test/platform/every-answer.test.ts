import { beforeAll, describe, expect, it } from 'vitest';
import { worldOfFile } from './oauth/oauth-fixture.ts';

const world = worldOfFile();
let token: string;
beforeAll(async () => {
  token = (await world.obtainTokens(await world.register())).access;
});

const JSON_TYPE = 'application/json; charset=utf-8';

/** Method, path, status and type of an answer without a credential; with one where the path begins with `!`. */
const ANSWERS: readonly [string, string, number, string, string?][] = [
  ['GET', '/api/v1/connections', 401, JSON_TYPE],
  ['GET', '!/api/v1/connections', 200, JSON_TYPE],
  ['GET', '!/api/v1/messages?limit=1&limit=2', 400, JSON_TYPE],
  ['GET', '/api/v1/nothing', 404, JSON_TYPE],
  ['PATCH', '/api/v1/connections', 405, JSON_TYPE],
  ['POST', '!/api/v1/connections', 413, JSON_TYPE, 'x'.repeat(300_000)],
  ['GET', '/', 404, JSON_TYPE],
  ['GET', '/media/nothing', 404, JSON_TYPE],
  ['GET', '/.well-known/oauth-authorization-server', 200, JSON_TYPE],
  ['PUT', '/.well-known/oauth-authorization-server', 405, JSON_TYPE],
  ['GET', '/.well-known/oauth-protected-resource/api/mcp', 200, JSON_TYPE],
  ['GET', '/oauth/authorize', 400, 'text/html; charset=utf-8'],
  ['POST', '/oauth/token', 400, JSON_TYPE],
  ['OPTIONS', '/api/mcp', 401, JSON_TYPE],
  ['POST', '/api/mcp', 401, JSON_TYPE],
  ['POST', '!/api/mcp', 400, JSON_TYPE, '{'],
  ['POST', '!/api/mcp', 400, JSON_TYPE, '{"jsonrpc":"1.0","id":1,"method":"ping"}'],
  ['POST', '!/api/mcp', 200, 'text/event-stream; charset=utf-8', '{"jsonrpc":"2.0","id":1,"method":"ping"}'],
];

describe('every answer of the service', () => {
  it.each(ANSWERS)(
    'to %s %s (%d) has a content type and forbids sniffing',
    async (method, asked, status, type, body) => {
      const answer = await fetch(`${world.service.origin}${asked.replace('!', '')}`, {
        method,
        headers: {
          accept: 'application/json, text/event-stream',
          ...(asked.startsWith('!') ? { authorization: `Bearer ${token}` } : {}),
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        ...(body === undefined ? {} : { body }),
      });
      expect({
        status: answer.status,
        type: answer.headers.get('content-type'),
        sniff: answer.headers.get('x-content-type-options'),
      }).toEqual({ status, type, sniff: 'nosniff' });
    },
  );
});
