import { createHash } from 'node:crypto';
import { html } from '../../runtime/page/page.ts';
import { type ConsentEnd, type FinishedConsent, OTHER_NUMBERS } from './consents.ts';

const STYLE = `body{font:16px/1.5 system-ui,sans-serif;max-width:34rem;margin:12vh auto;padding:0 1.25rem;color:#1b1b1b;background:#fff}
h1{font-size:1.4rem;margin:0 0 .5rem}p{margin:.5rem 0}code{font-size:.9em;color:#555}
@media(prefers-color-scheme:dark){body{color:#eee;background:#161616}code{color:#aaa}}`;

const STYLE_HASH = createHash('sha256').update(STYLE, 'utf8').digest('base64');

/** Of every page: nothing runs, nothing is loaded, nothing frames it, and the address goes nowhere. */
export const PAGE_HEADERS: Readonly<Record<string, string>> = {
  'Content-Type': 'text/html; charset=utf-8',
  'Content-Security-Policy': `default-src 'none'; style-src 'sha256-${STYLE_HASH}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  'Cache-Control': 'no-store',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
  'Cross-Origin-Opener-Policy': 'same-origin',
};

/** A page for the customer who comes back from the consent. */
export interface CallbackPage {
  readonly status: number;
  readonly html: string;
}

interface Text {
  readonly status: number;
  readonly title: string;
  readonly says: string;
  /** For whoever is asked for help. */
  readonly code?: string;
}

/**
 * Says how a consent ended, and leads on to where the CRM wants its customer. Nothing that came with the request is on
 * the page. It leads on by itself, and not by a redirect: pages that post a consent may forbid redirects to others.
 */
export function pageOf({ end, returnUrl }: FinishedConsent): CallbackPage {
  const { status, title, says, code } = textOf(end);
  // A code may be the service's own word.
  const named =
    code === undefined
      ? ''
      : html`
<p><code>${code}</code></p>`.text;
  const onward = returnUrl === null ? null : attribute(returnTo(returnUrl, end));
  const refresh = onward === null ? '' : `\n<meta http-equiv="refresh" content="0; url=${onward}">`;
  const link = onward === null ? '' : `\n<p><a href="${onward}">Continue</a></p>`;
  const page = `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title><style>${STYLE}</style>${refresh}</head>
<body><main>
<h1>${title}</h1>
<p>${says}</p>${named}${link}
</main></body>
</html>
`;
  return { status, html: page };
}

/** The page when our own store or the way to it fails. */
export const UNAVAILABLE: CallbackPage = pageOf({
  end: { kind: 'failed', code: 'unavailable' },
  returnUrl: null,
});

/** The address that the CRM gave, with what it needs to go on. */
function returnTo(returnUrl: string, end: ConsentEnd): string {
  const url = new URL(returnUrl);
  url.searchParams.set('outcome', end.kind === 'failed' ? end.code : end.kind);
  if (end.kind === 'connected') url.searchParams.set('accountId', end.accountId);
  return url.href;
}

/** A parsed address has no quotes and no angle brackets any more. */
function attribute(href: string): string {
  return href.replaceAll('&', '&amp;');
}

function textOf(end: ConsentEnd): Text {
  switch (end.kind) {
    case 'connected':
      return {
        status: 200,
        title: end.again ? 'Connected already' : 'Connected',
        says: 'Your numbers are connected. You can close this page.',
      };
    case 'unknown':
      return {
        status: 400,
        title: 'This link is not known',
        says: 'Nothing was changed. Start again from where you were sent here.',
      };
    case 'expired':
      return {
        status: 410,
        title: 'This took too long',
        says: 'Nothing was connected. Start again from where you were sent here.',
      };
    case 'used':
      return {
        status: 409,
        title: 'This link was used before',
        says: 'If your numbers do not appear as connected within a minute, start again from where you were sent here.',
      };
    case 'failed':
      return failureText(end.code);
  }
}

function failureText(code: string): Text {
  if (code === 'access_denied') {
    return {
      status: 400,
      title: 'Not connected',
      says: 'Access was not given, so nothing was connected. You can start again at any time.',
      code,
    };
  }
  if (code === OTHER_NUMBERS) {
    return {
      status: 409,
      title: 'Other numbers were approved',
      says: 'None of them was connected here before, so nothing was changed. Start again from where you were sent here and approve the same numbers as before; other numbers need a connection of their own.',
      code,
    };
  }
  const again =
    'Nothing was connected. Start again from where you were sent here; if it happens again, tell them this code:';
  const status = code === 'unavailable' ? 503 : 502;
  return { status, title: 'Something went wrong', says: again, code };
}
