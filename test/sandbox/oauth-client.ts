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

type Fields = Readonly<Record<string, string>>;

interface Tokens {
  readonly access_token: string;
  readonly refresh_token: string;
}

/** Sends a user of an app to the authorization server. */
export function authorizeApp(
  origin: string,
  { clientId }: RegisteredApp,
  fields: Fields = {},
): Promise<Response> {
  const query = new URLSearchParams({
    client_id: clientId,
    redirect_uri: REDIRECT_URI,
    response_type: 'code',
    code_challenge: CHALLENGE,
    code_challenge_method: 'S256',
    ...fields,
  });
  return fetch(`${origin}/oauth/authorize?${query}`, { redirect: 'manual' });
}

/** Presses a button of a consent page, of which `html` is the text. */
export function pressButton(origin: string, page: Response, html: string, fields: Fields): Promise<Response> {
  const field = (name: string): string => new RegExp(`name="${name}" value="([^"]*)"`).exec(html)?.[1] ?? '';
  return fetch(`${origin}/oauth/consent`, {
    method: 'POST',
    redirect: 'manual',
    headers: { cookie: String(page.headers.get('set-cookie')?.split(';')[0]) },
    body: new URLSearchParams({ consent: field('consent'), form: field('form'), ...fields }),
  });
}

async function redeem(origin: string, app: RegisteredApp, redirect: Response): Promise<Tokens> {
  const back = new URL(String(redirect.headers.get('location')));
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
  return (await answer.json()) as Tokens;
}

/** Tokens of a grant that is approved without a question. */
export async function obtainTokens(origin: string, app: RegisteredApp, fields: Fields = {}): Promise<Tokens> {
  return redeem(origin, app, await authorizeApp(origin, app, fields));
}

/** Tokens of a grant that the owner of a workspace approves on the consent page. */
export async function obtainByPage(origin: string, app: RegisteredApp, choice: Fields): Promise<Tokens> {
  const page = await authorizeApp(origin, app);
  const given = { action: 'allow', ...choice };
  return redeem(origin, app, await pressButton(origin, page, await page.text(), given));
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
