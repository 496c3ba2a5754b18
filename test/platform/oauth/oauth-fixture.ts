import { createHash, randomBytes } from 'node:crypto';
import type { AppRegistration } from '../../../src/platform/oauth/apps.ts';
import type { PortalSessions } from '../../../src/platform/oauth/portal-session.ts';
import { ofFile } from '../../support/of-file.ts';
import {
  seedWorkspace,
  startTestPlatform,
  type TestPlatform,
  type TestPlatformOptions,
} from '../../support/platform.ts';

export const REDIRECT_URI = 'https://crm.example/oauth/callback?tenant=7';
/** RFC 7636, appendix B: of the challenge that an authorize request has. */
export const VERIFIER = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk';
/** Paths of this server. A client reads them in the discovery document. */
export const PATHS = {
  authorize: '/oauth/authorize',
  token: '/oauth/token',
  revoke: '/oauth/revoke',
  jwks: '/oauth/jwks',
} as const;

/** The developer of an app is signed in. */
export const developersSignedIn: PortalSessions = {
  find: ({ ownerWorkspaceId }) => (ownerWorkspaceId === null ? null : { workspaceIds: [ownerWorkspaceId] }),
};

/** An answer with its body as text and, if it is JSON, as a value. */
export interface OauthReply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly body: Record<string, unknown>;
}

/** Parameters; an array stands for a parameter given more than once, undefined for one left out. */
export type Fields = Readonly<Record<string, string | readonly string[] | undefined>>;

export function encode(fields: Fields): string {
  const form = new URLSearchParams();
  for (const [name, value] of Object.entries(fields)) {
    for (const one of value === undefined ? [] : [value].flat()) form.append(name, one);
  }
  return form.toString();
}

export interface TestApp {
  readonly clientId: string;
  readonly clientSecret: string;
}

/** An authorize request that is right. */
export function authorizeFields({ clientId }: TestApp): Fields {
  return {
    client_id: clientId,
    redirect_uri: REDIRECT_URI,
    response_type: 'code',
    // RFC 7636, appendix B.
    code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
    code_challenge_method: 'S256',
  };
}

/** Apps, and whoever uses them, over a platform. */
export interface OauthUse {
  register(app?: Partial<AppRegistration>): Promise<TestApp>;
  send(method: string, path: string, init?: RequestInit): Promise<OauthReply>;
  post(path: string, fields: Fields): Promise<OauthReply>;
  /** Asks for a code; `fields` overwrite a request that is right. */
  authorize(app: TestApp, fields?: Fields): Promise<OauthReply>;
  /** A code and its verifier. */
  obtainCode(app: TestApp, fields?: Fields): Promise<{ code: string; verifier: string }>;
  /** Redeems a code; `fields` overwrite a request that is right. */
  redeem(app: TestApp, code: { code: string; verifier: string }, fields?: Fields): Promise<OauthReply>;
  refresh(app: TestApp, token: string, fields?: Fields): Promise<OauthReply>;
  /** Tokens of a fresh grant. */
  obtainTokens(app: TestApp, fields?: Fields): Promise<{ access: string; refresh: string }>;
}

/** A platform whose developers are signed in, with a workspace of one connection. */
export interface OauthWorld extends OauthUse {
  readonly service: TestPlatform;
  readonly workspaceId: string;
  readonly connectionId: string;
  readonly key: string;
}

/** Where an authorization response went, and its parameters. */
export function returned(reply: OauthReply): URLSearchParams {
  return new URL(reply.headers.get('location') ?? 'none:').searchParams;
}

/** `portal` says who is signed in; unless told, the developer of an app. */
export async function startOauthWorld(
  portal: PortalSessions = developersSignedIn,
  options: TestPlatformOptions = {},
): Promise<OauthWorld> {
  const service = await startTestPlatform({ ...options, ports: { portal, ...options.ports } });
  const seeded = await seedWorkspace(service);
  return { service, ...seeded, ...useOauth(service, seeded.workspaceId) };
}

/** A world that the tests of a file share. */
export function worldOfFile(...options: Parameters<typeof startOauthWorld>): OauthWorld {
  return ofFile(
    () => startOauthWorld(...options),
    ({ service }) => service.close(),
  );
}

/** Apps of a workspace, unless a registration says otherwise. */
export function useOauth(service: TestPlatform, workspaceId: string): OauthUse {
  const send: OauthUse['send'] = async (method, path, init = {}) => {
    const answer = await fetch(service.origin + path, { ...init, method, redirect: 'manual' });
    const text = await answer.text();
    const isJson = answer.headers.get('content-type')?.startsWith('application/json') === true;
    return {
      status: answer.status,
      headers: answer.headers,
      text,
      body: isJson && text !== '' ? JSON.parse(text) : {},
    };
  };
  const post: OauthUse['post'] = (path, fields) =>
    send('POST', path, {
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: encode(fields),
    });
  const asClient = ({ clientId, clientSecret }: TestApp) => ({
    client_id: clientId,
    client_secret: clientSecret,
  });

  const use: OauthUse = {
    send,
    post,
    register: (app = {}) =>
      service.platform.oauth.apps.create({
        name: 'CRM',
        redirectUris: [REDIRECT_URI],
        scopes: ['messaging.read', 'messaging.send', 'messaging.events', 'messaging.manage'],
        ownerWorkspaceId: workspaceId,
        ...app,
      }),
    authorize(app, fields = {}) {
      const query = encode({ ...authorizeFields(app), state: 'xyz', ...fields });
      return send('GET', `${PATHS.authorize}?${query}`);
    },
    async obtainCode(app, fields = {}) {
      const verifier = randomBytes(32).toString('base64url');
      const challenge = createHash('sha256').update(verifier).digest('base64url');
      const reply = await use.authorize(app, { code_challenge: challenge, ...fields });
      const code = returned(reply).get('code');
      if (code === null) throw new Error(`no code came: ${reply.headers.get('location')} ${reply.text}`);
      return { code, verifier };
    },
    redeem: (app, { code, verifier }, fields = {}) =>
      post(PATHS.token, {
        ...asClient(app),
        grant_type: 'authorization_code',
        code,
        code_verifier: verifier,
        redirect_uri: REDIRECT_URI,
        ...fields,
      }),
    refresh: (app, token, fields = {}) =>
      post(PATHS.token, { ...asClient(app), grant_type: 'refresh_token', refresh_token: token, ...fields }),
    async obtainTokens(app, fields = {}) {
      const { body } = await use.redeem(app, await use.obtainCode(app, fields));
      return { access: String(body['access_token']), refresh: String(body['refresh_token']) };
    },
  };
  return use;
}
