import { createHash, randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { OauthApp } from '../../../src/connector/oauth/oauth-app.ts';
import { type Served, serve } from '../../support/serve.ts';

const CLIENT = { clientId: 'client-1', clientSecret: 'client-secret-1' } as const;
const CALLBACK = 'http://127.0.0.1:4020/oauth/callback';

/** What is done with a token request in place of the usual; `lost_answer` does the usual and then resets. */
export type TokenFault =
  | { readonly status: number; readonly body: object }
  | 'reset'
  | 'lost_answer'
  | 'hang';

interface Grant {
  /** The one refresh token that is good. */
  refresh: string;
  revoked: boolean;
  readonly scope: string;
}

interface Pending {
  readonly challenge: string;
  readonly redirectUri: string;
  readonly scope: string;
}

/**
 * A small authorization server written from the RFCs: codes of one use with PKCE, rotation, and a family that is
 * revoked when an old refresh token comes back. Tests look at what it was asked, and script faults.
 */
export class ScriptedAuthServer {
  /** The fields of every request to the token and revocation endpoints. */
  readonly requests: { readonly path: string; readonly fields: URLSearchParams }[] = [];
  /** Told of each access token that is good from now on, and of each that is not any more. */
  onAccess: (token: string, good: boolean) => void = () => undefined;
  /** Called before a token request is answered. */
  onRequest: (fields: URLSearchParams) => void | Promise<void> = () => undefined;
  /** Called after a refresh was carried out, before its answer goes out. */
  onRefreshed: () => void | Promise<void> = () => undefined;
  fault: (fields: URLSearchParams) => TokenFault | undefined = () => undefined;
  clientSecret: string = CLIENT.clientSecret;
  readonly clientIds = new Set<string | null>([CLIENT.clientId]);
  /** Of the app's webhook, as its registration shows it. */
  webhookSecret = 'app-webhook-secret-1';
  /** What tokens and codes begin with. */
  marks = { access: 'access-', refresh: 'refresh-', code: 'code-' };
  /** Seconds; null: answers do not say. */
  expiresIn: number | null = 900;
  readonly #codes = new Map<string, Pending>();
  readonly #grants: Grant[] = [];
  /** By every refresh token that a grant ever had. */
  readonly #family = new Map<string, Grant>();
  readonly #access = new Map<string, Grant>();
  #served: Served | undefined;

  static async start(): Promise<ScriptedAuthServer> {
    const server = new ScriptedAuthServer();
    server.#served = await serve(createServer((request, response) => void server.#handle(request, response)));
    return server;
  }

  get url(): string {
    return this.#served?.url ?? '';
  }

  app(baseUrl: string): OauthApp {
    return {
      ...CLIENT,
      clientSecret: this.clientSecret,
      webhookSecret: this.webhookSecret,
      authUrl: this.url,
      publicUrl: new URL(CALLBACK).origin,
      returnHosts: ['CRM.example'],
      baseUrl,
    };
  }

  async close(): Promise<void> {
    await this.#served?.close();
  }

  refreshes(): number {
    return this.requests.filter(({ fields }) => fields.get('grant_type') === 'refresh_token').length;
  }

  /** The customer approves: the query with which the browser comes back. */
  approve(authorizationUrl: string): string {
    const asked = new URL(authorizationUrl).searchParams;
    const code = `${this.marks.code}${randomBytes(9).toString('hex')}`;
    this.#codes.set(code, {
      challenge: asked.get('code_challenge') ?? '',
      redirectUri: asked.get('redirect_uri') ?? '',
      scope: asked.get('scope') ?? 'messaging.read messaging.send messaging.events messaging.manage',
    });
    return new URLSearchParams({ code, state: asked.get('state') ?? '', iss: this.url }).toString();
  }

  /** A grant without a consent: what a token answer would hold. */
  issue(): { accessToken: string; refreshToken: string } {
    const grant: Grant = { refresh: '', revoked: false, scope: 'messaging.read' };
    this.#grants.push(grant);
    const { access_token: accessToken, refresh_token: refreshToken } = this.#pairOf(grant);
    return { accessToken, refreshToken };
  }

  /** Ends every grant at once, as customers can. */
  revokeAll(): void {
    for (const grant of this.#grants) this.#revoke(grant);
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = new URL(request.url ?? '', this.url).pathname;
    const answer = (status: number, body: object): void => {
      response.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' });
      response.end(JSON.stringify(body));
    };
    if (path.startsWith('/.well-known/')) return answer(200, this.#metadata());
    let body = '';
    for await (const chunk of request) body += String(chunk);
    const fields = new URLSearchParams(body);
    this.requests.push({ path, fields });
    await this.onRequest(fields);
    const fault = this.fault(fields);
    if (fault === 'hang') return;
    if (fault === 'reset') return void request.socket.resetAndDestroy();
    if (typeof fault === 'object') return answer(fault.status, fault.body);
    const known =
      this.clientIds.has(fields.get('client_id')) && fields.get('client_secret') === this.clientSecret;
    const [status, result] = known ? this.#answer(path, fields) : [401, { error: 'invalid_client' }];
    if (fields.get('grant_type') === 'refresh_token' && status === 200) await this.onRefreshed();
    if (fault === 'lost_answer') return void request.socket.resetAndDestroy();
    answer(status, result);
  }

  #answer(path: string, fields: URLSearchParams): [number, object] {
    if (path === '/revoke') {
      const grant = this.#family.get(fields.get('token') ?? '');
      if (grant !== undefined) this.#revoke(grant);
      return [200, {}];
    }
    return fields.get('grant_type') === 'refresh_token' ? this.#refresh(fields) : this.#redeem(fields);
  }

  #redeem(fields: URLSearchParams): [number, object] {
    const code = fields.get('code') ?? '';
    const pending = this.#codes.get(code);
    this.#codes.delete(code);
    const challenge = createHash('sha256')
      .update(fields.get('code_verifier') ?? '')
      .digest('base64url');
    if (pending?.challenge !== challenge || pending.redirectUri !== fields.get('redirect_uri')) {
      return [400, { error: 'invalid_grant' }];
    }
    const grant: Grant = { refresh: '', revoked: false, scope: pending.scope };
    this.#grants.push(grant);
    return [200, this.#pairOf(grant)];
  }

  #refresh(fields: URLSearchParams): [number, object] {
    const token = fields.get('refresh_token') ?? '';
    const grant = this.#family.get(token);
    if (grant === undefined || grant.revoked) return [400, { error: 'invalid_grant' }];
    if (grant.refresh !== token) {
      this.#revoke(grant);
      return [400, { error: 'invalid_grant' }];
    }
    return [200, this.#pairOf(grant)];
  }

  #pairOf(grant: Grant) {
    const access = `${this.marks.access}${randomBytes(12).toString('hex')}`;
    grant.refresh = `${this.marks.refresh}${randomBytes(12).toString('hex')}`;
    this.#family.set(grant.refresh, grant);
    this.#access.set(access, grant);
    this.onAccess(access, true);
    return {
      access_token: access,
      token_type: 'Bearer',
      refresh_token: grant.refresh,
      scope: grant.scope,
      ...(this.expiresIn === null ? {} : { expires_in: this.expiresIn }),
    };
  }

  #revoke(grant: Grant): void {
    grant.revoked = true;
    for (const [token, owner] of this.#access) if (owner === grant) this.onAccess(token, false);
  }

  #metadata(): object {
    return {
      issuer: this.url,
      authorization_endpoint: `${this.url}/authorize`,
      token_endpoint: `${this.url}/token`,
      revocation_endpoint: `${this.url}/revoke`,
      response_types_supported: ['code'],
      code_challenge_methods_supported: ['S256'],
      token_endpoint_auth_methods_supported: ['client_secret_post'],
      authorization_response_iss_parameter_supported: true,
    };
  }
}
