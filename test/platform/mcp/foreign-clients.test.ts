import * as modern from '@modelcontextprotocol/client';
import { UnauthorizedError as UnauthorizedV1 } from '@modelcontextprotocol/sdk/client/auth.js';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as TransportV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { beforeAll, describe, expect, it } from 'vitest';
import { proves } from '../../support/proves.ts';
import { WatchedClock } from '../../support/watched-clock.ts';
import { type TestApp, worldOfFile } from '../oauth/oauth-fixture.ts';

/** With draws of a half: a `qr` send of a short text, and a session that heals before. */
const SEND_MS = 2_000 + 5 * 30;

let nextPhone = 4915700000000;
const clock = new WatchedClock();
const world = worldOfFile(undefined, { clock, sendScale: 1, ports: { random: () => 0.5 } });
let url: URL;
beforeAll(() => {
  url = new URL('/api/mcp', world.service.origin);
});

const CALLBACK = 'https://agent.example/callback';

interface Tokens extends modern.OAuthTokens {
  readonly issuer?: string;
}

/** The part of a client that its user writes: it keeps what it is given, and opens a browser. */
class Keeper {
  readonly redirectUrl = CALLBACK;
  readonly clientMetadata = {
    client_name: 'Agent',
    redirect_uris: [CALLBACK],
    token_endpoint_auth_method: 'client_secret_post',
  };
  readonly #app: TestApp;
  #tokens: Tokens | undefined;
  #verifier = '';
  #discovered: modern.OAuthDiscoveryState | undefined;
  /** Where the user was sent, in order. */
  readonly visited: URL[] = [];

  constructor(app: TestApp, tokens?: Tokens) {
    this.#app = app;
    this.#tokens = tokens;
  }

  clientInformation = () => ({ client_id: this.#app.clientId, client_secret: this.#app.clientSecret });
  tokens = () => this.#tokens;
  saveTokens = (tokens: Tokens): void => {
    this.#tokens = tokens;
  };
  discoveryState = () => this.#discovered;
  saveDiscoveryState = (state: modern.OAuthDiscoveryState): void => {
    this.#discovered = state;
  };
  redirectToAuthorization = (address: URL): void => {
    this.visited.push(address);
  };
  saveCodeVerifier = (verifier: string): void => {
    this.#verifier = verifier;
  };
  codeVerifier = (): string => this.#verifier;

  /** Keeps the access token alone. */
  forgetRefresh(): void {
    if (this.#tokens === undefined) return;
    const { refresh_token: _forgotten, ...kept } = this.#tokens;
    this.#tokens = kept;
  }

  /** What the browser brings back: consent is automatic here. */
  async comeBack(): Promise<URLSearchParams> {
    const answer = await fetch(String(this.visited.at(-1)), { redirect: 'manual' });
    return new URL(String(answer.headers.get('location'))).searchParams;
  }
}

function isUnauthorized(error: unknown): boolean {
  return error instanceof UnauthorizedV1 || error instanceof modern.UnauthorizedError;
}

/** What a program does with a client, whichever library it is of. */
interface ForeignClient {
  readonly protocol: () => string | undefined;
  toolNames(): Promise<string[]>;
  call(name: string, given: object): Promise<unknown>;
  /** Redeems the code that a user came back with. */
  finish(back: URLSearchParams): Promise<void>;
  close(): Promise<void>;
}

/** Opens a client. Rejects when its user has to consent first; `finish` of the same client goes on. */
type Open = (keeper: Keeper) => { client: ForeignClient; connected: Promise<void> };

const openV1: Open = (keeper) => {
  const transport = new TransportV1(url, { authProvider: keeper });
  const client = new ClientV1({ name: 'judge', version: '1' });
  return {
    connected: client.connect(transport as Parameters<typeof client.connect>[0]),
    client: {
      protocol: () => transport.protocolVersion,
      toolNames: async () => (await client.listTools()).tools.map(({ name }) => name),
      call: (name, given) => client.callTool({ name, arguments: { ...given } }),
      finish: (back) => transport.finishAuth(String(back.get('code'))),
      close: () => client.close(),
    },
  };
};

const openV2 =
  (mode: 'legacy' | { readonly pin: string }): Open =>
  (keeper) => {
    const transport = new modern.StreamableHTTPClientTransport(url, { authProvider: keeper });
    const client = new modern.Client({ name: 'judge', version: '2' }, { versionNegotiation: { mode } });
    return {
      connected: client.connect(transport),
      client: {
        protocol: () => client.getNegotiatedProtocolVersion(),
        toolNames: async () => (await client.listTools()).tools.map(({ name }) => name),
        call: (name, given) => client.callTool({ name, arguments: { ...given } }),
        finish: (back) => transport.finishAuth(back),
        close: () => client.close(),
      },
    };
  };

describe.for([
  { sdk: 'version 1 of the SDK', protocol: '2025-11-25', open: openV1 },
  { sdk: 'version 2 of the SDK, in the era of 2025', protocol: '2025-11-25', open: openV2('legacy') },
  { sdk: 'version 2 of the SDK', protocol: '2026-07-28', open: openV2({ pin: '2026-07-28' }) },
])('a client of $sdk', ({ protocol, open }) => {
  const register = () =>
    world.register({ redirectUris: [CALLBACK], scopes: ['messaging.read', 'messaging.send'] });

  /** Connects, sending the user to consent where need be. */
  async function connect(keeper: Keeper): Promise<ForeignClient> {
    const first = open(keeper);
    const refused = await first.connected.then(
      () => null,
      (error: unknown) => error,
    );
    if (refused === null) return first.client;
    expect(isUnauthorized(refused), String(refused)).toBe(true);
    await first.client.finish(await keeper.comeBack());
    const second = open(keeper);
    await second.connected;
    return second.client;
  }

  it('reaches the tools with only the address and a registered app', async () => {
    proves('service.tools.offered', 'tools.list', 'tools.send', 'tools.read', 'oauth.discovery');
    const keeper = new Keeper(await register());
    const client = await connect(keeper);
    expect(keeper.visited.map(({ searchParams }) => searchParams.get('scope'))).toEqual([
      'messaging.read messaging.send',
    ]);
    expect(keeper.visited[0]?.searchParams.get('resource')).toBe(String(url));
    expect(client.protocol()).toBe(protocol);
    expect(await client.toolNames()).toEqual([
      'list_messaging_connections',
      'send_messaging_message',
      'read_messaging_messages',
    ]);
    const listed = await client.call('list_messaging_connections', {});
    expect(listed).toMatchObject({ structuredContent: { connections: [{ id: world.connectionId }] } });
    const given = { connectionId: world.connectionId, to: String(nextPhone++), text: 'hello' };
    const sending = client.call('send_messaging_message', given);
    await clock.timerSet(SEND_MS);
    await world.service.platform.time.advance({ ms: SEND_MS });
    expect(await sending).toMatchObject({ structuredContent: { status: 'sent' } });
    const read = await client.call('read_messaging_messages', { limit: 1 });
    expect(read).toMatchObject({ structuredContent: { messages: [{ text: 'hello' }] } });
    expect(await client.call('send_messaging_message', { ...given, to: '+1' })).toMatchObject({
      isError: true,
      content: [{ text: expect.stringMatching(/^invalid_request: /) }],
    });
    await client.close();
  });

  it('refreshes a token that has expired, and asks for a scope that is missing', async () => {
    const app = await register();
    const redirect = { redirect_uri: CALLBACK };
    const code = await world.obtainCode(app, { ...redirect, scope: 'messaging.read' });
    const { body } = await world.redeem(app, code, redirect);
    const tokens = {
      access_token: String(body['access_token']),
      refresh_token: String(body['refresh_token']),
      token_type: 'Bearer',
      issuer: world.service.origin,
    };
    const keeper = new Keeper(app, tokens);
    const client = await connect(keeper);
    await world.service.platform.time.advance({ ms: 16 * 60_000 });
    expect(await client.toolNames()).toHaveLength(3);
    expect(keeper.tokens()?.refresh_token).not.toBe(tokens.refresh_token);
    expect(keeper.visited).toEqual([]);

    // Version 1 would refresh once more where it should ask.
    keeper.forgetRefresh();
    const unsendable = { connectionId: 'cunknown', to: '4915100000001', text: 'x' };
    const refused = client.call('send_messaging_message', unsendable);
    await expect(refused).rejects.toSatisfy(isUnauthorized);
    expect(keeper.visited.at(-1)?.searchParams.get('scope')).toBe('messaging.read messaging.send');
    await client.finish(await keeper.comeBack());
    expect(await client.call('send_messaging_message', unsendable)).toMatchObject({
      isError: true,
      content: [{ text: expect.stringMatching(/^not_found: /) }],
    });
    await client.close();
  });
});
