import { encode, type Fields, type OauthReply, type OauthWorld } from './oauth-fixture.ts';

export const FORM = 'application/x-www-form-urlencoded';

/** A page as a browser holds it: its text, its cookie, and the hidden fields of its first form. */
export interface Page {
  readonly reply: OauthReply;
  readonly cookie: string;
  readonly fields: Fields;
  readonly values: (name: string) => string[];
}

export function readPage(reply: OauthReply, cookie = ''): Page {
  const values = (name: string): string[] =>
    [...reply.text.matchAll(new RegExp(`name="${name}" value="([^"]*)"`, 'g'))].map(
      ([, value]) => value ?? '',
    );
  return {
    reply,
    cookie: reply.headers.get('set-cookie')?.split(';')[0] ?? cookie,
    fields: { consent: values('consent')[0] },
    values,
  };
}

/** Sends a form as a browser does. */
export async function postForm(world: OauthWorld, fields: Fields, cookie: string): Promise<OauthReply> {
  const headers = { 'content-type': FORM, cookie };
  return world.send('POST', '/oauth/consent', { headers, body: encode(fields) });
}
