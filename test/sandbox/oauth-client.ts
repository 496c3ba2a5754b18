import { createHash } from 'node:crypto';

const VERIFIER = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk';
const CHALLENGE = createHash('sha256').update(VERIFIER).digest('base64url');
export const REDIRECT_URI = 'http://127.0.0.1:4020/oauth/callback';

/** What the sandbox answers when an app is registered. */
export interface RegisteredApp {
  readonly clientId: string;
  readonly clientSecret: string;
  readonly webhookSecret: string | null;
}

/** Sends a user of an app to the authorization server. */
export function authorizeApp(origin: string, { clientId }: RegisteredApp): Promise<Response> {
  const query = new URLSearchParams({
    client_id: clientId,
    redirect_uri: REDIRECT_URI,
    response_type: 'code',
    code_challenge: CHALLENGE,
    code_challenge_method: 'S256',
  });
  return fetch(`${origin}/oauth/authorize?${query}`, { redirect: 'manual' });
}

/** Tokens of a grant that is approved without a question. */
export async function obtainTokens(
  origin: string,
  app: RegisteredApp,
): Promise<{ access_token: string; refresh_token: string }> {
  const back = new URL(String((await authorizeApp(origin, app)).headers.get('location')));
  const answer = await fetch(`${origin}/oauth/token`, {
    method: 'POST',
    body: new URLSearchParams({
      client_id: app.clientId,
      client_secret: app.clientSecret,
      grant_type: 'authorization_code',
      code: String(back.searchParams.get('code')),
      code_verifier: VERIFIER,
      redirect_uri: REDIRECT_URI,
    }),
  });
  return (await answer.json()) as { access_token: string; refresh_token: string };
}

export function refreshTokens(origin: string, app: RegisteredApp, token: string): Promise<Response> {
  return fetch(`${origin}/oauth/token`, {
    method: 'POST',
    body: new URLSearchParams({
      client_id: app.clientId,
      client_secret: app.clientSecret,
      grant_type: 'refresh_token',
      refresh_token: token,
    }),
  });
}
