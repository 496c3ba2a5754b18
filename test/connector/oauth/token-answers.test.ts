import { createServer } from 'node:http';
import { beforeAll, expect, it } from 'vitest';
import { createAuthorizationServer } from '../../../src/connector/oauth/authorization-server.ts';
import { OauthUnreachable } from '../../../src/connector/oauth/oauth-errors.ts';
import type { Clock } from '../../../src/runtime/clock/clock.ts';
import { systemClock } from '../../../src/runtime/clock/system-clock.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { ofFile } from '../../support/of-file.ts';
import { proves } from '../../support/proves.ts';
import { serve } from '../../support/serve.ts';

let issuer: string;
let answer: unknown;
let contentType: string;
let tokenEndpoint: string | undefined;
const server = createServer((request, response) => {
  const isMetadata = request.url?.startsWith('/.well-known/') === true;
  const metadata = {
    issuer,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: tokenEndpoint,
    response_types_supported: ['code'],
  };
  response.writeHead(200, { 'content-type': isMetadata ? 'application/json' : contentType });
  response.end(JSON.stringify(isMetadata ? metadata : answer));
});

const listener = ofFile(() => serve(server));
beforeAll(() => {
  issuer = listener.url;
  tokenEndpoint = `${issuer}/token`;
});

function open(clock: Clock) {
  const app = {
    authUrl: issuer,
    clientId: 'client',
    clientSecret: 'secret',
    publicUrl: 'https://crm.example/',
    baseUrl: `${issuer}/api/v1`,
  };
  return createAuthorizationServer(app, clock);
}

async function refresh(body: unknown, type = 'application/json', server = open(systemClock)) {
  answer = body;
  contentType = type;
  return await server.refresh('used');
}

const issued = {
  access_token: 'a',
  token_type: 'Bearer',
  expires_in: 600,
  refresh_token: 'r',
  scope: 'messaging.read',
};
const read = { accessToken: 'a', refreshToken: 'r', expiresInMs: 600_000, scope: 'messaging.read' };

it.each<[string, object, object]>([
  ['as issued', {}, {}],
  ['no refresh token', { refresh_token: undefined }, { refreshToken: null }],
  ['null for a refresh token', { refresh_token: null }, { refreshToken: null }],
  ['an empty refresh token', { refresh_token: '' }, { refreshToken: null }],
  ['null for an id token', { id_token: null }, {}],
  ['an id token of somebody else', { id_token: 'a.b.c' }, {}],
  ['null for a scope', { scope: null }, { scope: null }],
  ['a list of scopes', { scope: ['messaging.read'] }, { scope: null }],
  ['a lifetime in digits', { expires_in: '600' }, {}],
  ['null for a type', { token_type: null }, {}],
  ['no type', { token_type: undefined }, {}],
])('uses tokens with %s', async (_, fields, expected) => {
  expect(await refresh({ ...issued, ...fields })).toEqual({ ...read, ...expected });
});

it('assumes 15 minutes where the lifetime cannot be read', async () => {
  proves('limits.tokens');
  for (const expires_in of [undefined, null, '', 'soon', 0, -1, {}, true]) {
    expect(await refresh({ ...issued, expires_in })).toEqual({ ...read, expiresInMs: 900_000 });
  }
});

it('uses tokens whatever their content type is', async () => {
  expect(await refresh(issued, 'text/html')).toEqual(read);
});

it('asks again where tokens are issued a minute after a document that did not say', async () => {
  const clock = new ManualClock();
  const server = open(clock);
  tokenEndpoint = undefined;
  await expect(refresh(issued, undefined, server)).rejects.toBeInstanceOf(OauthUnreachable);
  tokenEndpoint = `${issuer}/token`;
  await clock.advance(60_000);
  expect(await refresh(issued, undefined, server)).toEqual(read);
});

it('finds no tokens in anything else', async () => {
  for (const body of [
    {},
    { ...issued, access_token: null },
    { ...issued, access_token: '' },
    [issued],
    'a',
  ]) {
    await expect(refresh(body)).rejects.toBeInstanceOf(OauthUnreachable);
  }
});
