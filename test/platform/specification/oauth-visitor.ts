import { createHash, randomBytes } from 'node:crypto';
import { expect } from 'vitest';
import { type Json, type Reply, request, type WireService } from './wire-service.ts';

export const REDIRECT_URI = 'https://crm.example.com/callback';

/** An app as the sandbox answers its registration, with the address it is sent back to. */
export interface App {
  readonly clientId: string;
  readonly clientSecret: string;
  readonly webhookSecret: string | null;
}

/** Parameters of a request: a list is sent as duplicates, undefined takes one away. */
export type Parameters = Readonly<Record<string, string | readonly string[] | undefined>>;

export interface TokenPair {
  readonly access_token: string;
  readonly refresh_token: string;
  readonly scope: string;
}

/** Where an authorize request or a consent led. */
export interface Visit {
  readonly reply: Reply;
  /** What the app gets when the browser is sent back to it; null when it is not. */
  readonly back: URLSearchParams | null;
  /** The page, when one is shown. */
  readonly page: ConsentPage | null;
}

/** A page in a browser. */
export interface ConsentPage {
  readonly html: string;
  /** What the browser sends when a button is pressed: the hidden fields and the boxes that are checked. */
  readonly fields: Parameters;
  /** Presses the button of this action; `changes` are fields that differ from the page. */
  press(action: string, changes?: Parameters, cookie?: string): Promise<Visit>;
}

export interface OauthVisitor {
  /** The discovery document. */
  readonly metadata: Json;
  register(more?: object): Promise<App>;
  authorize(app: App, changes?: Parameters): Promise<Visit>;
  redeem(app: App, code: string, changes?: Parameters): Promise<Reply>;
  refresh(app: App, token: string, changes?: Parameters): Promise<Reply>;
  revoke(app: App, token: string, changes?: Parameters): Promise<Reply>;
  /** The code of an app whose developer is approved without a question. */
  obtainCode(app: App, changes?: Parameters): Promise<string>;
  /** Tokens of such an app. */
  obtainTokens(app: App, changes?: Parameters): Promise<TokenPair>;
  /** The page of a standalone workspace, reached through the choice of workspaces when there is one. */
  openPage(app: App, workspaceId: string, changes?: Parameters): Promise<ConsentPage>;
  /** Tokens of an app that an owner approves on the page; `choice` are boxes that differ from it. */
  obtainByPage(app: App, workspaceId: string, choice?: Parameters): Promise<TokenPair>;
}

const VERIFIER = randomBytes(48).toString('base64url');
const CHALLENGE = createHash('sha256').update(VERIFIER).digest('base64url');

export function encode(...layers: readonly Parameters[]): URLSearchParams {
  const encoded = new URLSearchParams();
  for (const [name, value] of Object.entries(Object.assign({}, ...layers) as Parameters)) {
    for (const one of value === undefined ? [] : [value].flat()) encoded.append(name, one);
  }
  return encoded;
}

/** What a token says, unverified. */
export function decode(token: string): { readonly header: Json; readonly claims: Json } {
  const [header, claims] = token
    .split('.', 2)
    .map((part) => JSON.parse(Buffer.from(part, 'base64url').toString()));
  return { header, claims };
}

/** A client of the authorization server that knows of it what discovery tells. */
export async function createOauthVisitor(service: WireService): Promise<OauthVisitor> {
  const { authUrl } = service.info;
  const { body: metadata } = await request(`${authUrl}/.well-known/oauth-authorization-server`);
  const post = (endpoint: string, { clientId, clientSecret }: App, ...layers: readonly Parameters[]) =>
    request(endpoint, {
      method: 'POST',
      body: encode({ client_id: clientId, client_secret: clientSecret }, ...layers),
    });
  const authorize: OauthVisitor['authorize'] = async (app, changes = {}) => {
    const url = new URL(metadata.authorization_endpoint);
    const usual = {
      client_id: app.clientId,
      redirect_uri: REDIRECT_URI,
      response_type: 'code',
      code_challenge: CHALLENGE,
      code_challenge_method: 'S256',
      state: 'state-1',
    };
    url.search = encode(usual, changes).toString();
    return visit(url, await request(url));
  };
  const redeem: OauthVisitor['redeem'] = (app, code, changes = {}) => {
    const grant = { grant_type: 'authorization_code', code, code_verifier: VERIFIER };
    return post(metadata.token_endpoint, app, grant, { redirect_uri: REDIRECT_URI }, changes);
  };
  const obtainCode: OauthVisitor['obtainCode'] = async (app, changes) => {
    const { reply, back } = await authorize(app, changes);
    expect([...(back?.keys() ?? [])], reply.text.slice(-2000)).toContain('code');
    return String(back?.get('code'));
  };
  const redeemWell = async (app: App, code: string): Promise<TokenPair> => {
    const reply = await redeem(app, code);
    expect(reply.status, reply.text).toBe(200);
    return reply.body;
  };
  const openPage: OauthVisitor['openPage'] = async (app, workspaceId, changes) => {
    const { page } = await authorize(app, changes);
    if (page === null) throw new Error('No page is shown.');
    if ([page.fields['workspace']].flat().includes(workspaceId)) return page;
    const chosen = await page.press('workspace', { workspace: workspaceId });
    if (chosen.page === null) throw new Error('No page is shown for the workspace.');
    return chosen.page;
  };
  return {
    metadata,
    authorize,
    redeem,
    obtainCode,
    openPage,
    obtainTokens: async (app, changes) => redeemWell(app, await obtainCode(app, changes)),
    async obtainByPage(app, workspaceId, choice) {
      const { back } = await (await openPage(app, workspaceId)).press('allow', choice);
      return redeemWell(app, String(back?.get('code')));
    },
    register: (more = {}) =>
      service.control('POST', '/oauth-apps', {
        name: 'CRM',
        redirectUris: [REDIRECT_URI],
        scopes: metadata.scopes_supported,
        ...more,
      }),
    refresh: (app, token, changes = {}) =>
      post(metadata.token_endpoint, app, { grant_type: 'refresh_token', refresh_token: token }, changes),
    revoke: (app, token, changes = {}) => post(metadata.revocation_endpoint, app, { token }, changes),
  };
}

/** What a browser does with an answer to a request for `url`: it follows a redirect to a page of the same server. */
export async function visit(url: URL, reply: Reply, jar = new Map<string, string>()): Promise<Visit> {
  for (const line of reply.headers.getSetCookie()) {
    const [pair = ''] = line.split(';');
    jar.set(pair.slice(0, pair.indexOf('=')), pair);
  }
  const location = reply.headers.get('location');
  if (location !== null) {
    const target = new URL(location, url);
    if (target.origin === url.origin) {
      expect(reply.status).toBe(303);
      const cookie = [...jar.values()].join('; ');
      return visit(target, await request(target, { headers: { cookie } }), jar);
    }
    expect(target.href.split('?')[0]).toBe(REDIRECT_URI);
    return { reply, back: target.searchParams, page: null };
  }
  const shown = /^text\/html/.test(reply.headers.get('content-type') ?? '') && reply.text.includes('<form');
  return { reply, back: null, page: shown ? readPage(url, reply.text, jar) : null };
}

function readPage(url: URL, html: string, jar: Map<string, string>): ConsentPage {
  const [form = ''] = /<form[\s\S]*?<\/form>/.exec(html) ?? [];
  const fields: Record<string, string[]> = {};
  for (const [input] of form.matchAll(/<input[^>]*>/g)) {
    const attribute = (name: string): string => new RegExp(`${name}="([^"]*)"`).exec(input)?.[1] ?? '';
    if (attribute('type') === 'checkbox' && !/\schecked/.test(input)) continue;
    fields[attribute('name')] = [...(fields[attribute('name')] ?? []), attribute('value')];
  }
  const target = new URL(/action="([^"]*)"/.exec(form)?.[1] ?? '', url);
  return {
    html,
    fields,
    press: async (action, changes = {}, cookie = [...jar.values()].join('; ')) => {
      const body = encode(fields, { action }, changes);
      const headers = { cookie, origin: target.origin };
      return visit(target, await request(target, { method: 'POST', headers, body }), jar);
    },
  };
}
