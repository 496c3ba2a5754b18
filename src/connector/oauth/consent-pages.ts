import { html, type Markup, type Page, renderPage, shownName, shownNumber } from '../../runtime/page/page.ts';
import { type GrantedNumber, OTHER_NUMBERS } from './check-grant.ts';
import type { ConsentEnd, FinishedConsent, Flow } from './consents.ts';
import type { OauthApp } from './oauth-app.ts';

/** A page for the customer who consents. */
export interface ConsentPage {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly html: string;
}

/** A text page; `code` is for support. */
interface Text {
  readonly status: number;
  readonly title: string;
  readonly says: string;
  readonly code?: string;
  readonly numbers?: readonly GrantedNumber[];
}

/** Maximum number of numbers that are listed. */
const MAX_SHOWN = 20;

/**
 * The connector's pages for a customer who consents, before and after the service's own pages. They name the host at
 * which the customers of the app find them.
 */
export function createConsentPages(app: Pick<OauthApp, 'publicUrl' | 'authUrl'>) {
  const ownHost = new URL(app.publicUrl).host;
  const serviceHost = new URL(app.authUrl).host;

  function show(status: number, page: Omit<Page, 'owner' | 'about'>): ConsentPage {
    const about = html`Connects phone numbers of ${serviceHost}`;
    const rendered = renderPage({ owner: ownHost, about, ...page });
    const headers = { ...rendered.headers, 'Cross-Origin-Opener-Policy': 'same-origin' };
    return { status, headers, html: rendered.html };
  }

  /**
   * Reports how a consent ended and leads to the address given by the CRM. The page contains nothing from the
   * request. It refreshes to that address instead of redirecting, because pages that post a consent may
   * forbid redirects to other hosts.
   */
  function end({ end: ended, returnUrl }: Pick<FinishedConsent, 'end' | 'returnUrl'>): ConsentPage {
    const { status, title, says, code, numbers = [] } = textOf(ended);
    const onward = returnUrl === null ? null : returnTo(returnUrl, ended);
    return show(status, {
      title,
      heading: html`${title}`,
      content: html`${listNumbers(numbers)}<p>${says}</p>${
        // A code may come from the service.
        code === undefined ? html`` : html`\n<p class="soft"><code>${code}</code></p>`
      }${
        onward === null
          ? html``
          : html`\n<p class="actions"><a class="button main" href="${onward}">Continue</a></p>`
      }`,
      ...(onward === null ? {} : { refreshTo: onward }),
    });
  }

  return {
    /**
     * Asks the customer to continue to the service. `cookieMissing`: the browser continued without the cookie
     * of this page.
     */
    ask({ label, returnUrl }: Pick<Flow, 'label' | 'returnUrl'>, cookieMissing: boolean): ConsentPage {
      const crm = returnUrl === null ? ownHost : new URL(returnUrl).host;
      const account =
        label === null ? html`an account` : html`the account <strong>${shownName(label)}</strong>`;
      const notice = html`<p class="notice" role="alert">Your browser did not send the cookie of this page. Allow cookies for ${ownHost}, then continue.</p>`;
      return show(cookieMissing ? 403 : 200, {
        title: 'Connect your numbers',
        heading: html`Connect your numbers`,
        content: html`${cookieMissing ? notice : html``}<p>Your numbers will be connected to ${account} at <strong>${crm}</strong>.</p>
<p>${serviceHost} will ask which numbers to share, and with which permissions.</p>
<p class="notice">Continue only if you have just requested this at ${crm} yourself. If somebody sent you this link, close the page: your numbers would be connected to their account.</p>
<form method="post"><p class="actions"><button class="main">Continue</button></p></form>`,
        // A browser applies this list to the redirects after the form, and a service may sign users in at
        // other hosts.
        formTargets: ["'self'", 'https:', new URL(app.authUrl).origin],
      });
    },
    end,
    /** When our own database or the way to it fails. */
    unavailable: end({ end: { kind: 'failed', code: 'unavailable' }, returnUrl: null }),
    /** The response to a request for the head only. */
    head: show(200, { title: 'Connect your numbers', heading: html`Connect your numbers`, content: html`` }),
  };
}

function listNumbers(numbers: readonly GrantedNumber[]): Markup {
  if (numbers.length === 0) return html``;
  const items = numbers
    .slice(0, MAX_SHOWN)
    .map(({ phoneNumber, label }) => html`<li>${shownNumber(phoneNumber, label ?? '')}</li>`);
  const more = numbers.length - items.length;
  return html`<ul>${items}${more > 0 ? html`<li class="soft">and ${more} more</li>` : html``}</ul>\n`;
}

/** The address that the CRM gave, with the outcome. Anybody can forge it, so it contains nothing else. */
function returnTo(returnUrl: string, end: ConsentEnd): string {
  const url = new URL(returnUrl);
  url.searchParams.set('outcome', end.kind === 'failed' ? end.code : end.kind);
  return url.href;
}

function textOf(end: ConsentEnd): Text {
  switch (end.kind) {
    case 'connected': {
      const { numbers } = end;
      const which =
        numbers.length === 0
          ? 'Your numbers are'
          : numbers.length === 1
            ? 'This number is'
            : 'These numbers are';
      return {
        status: 200,
        title: end.again ? 'Already connected' : 'Connected',
        says: `${which} connected. You can close this page.`,
        numbers,
      };
    }
    case 'unknown':
      return {
        status: 400,
        title: 'Unknown link',
        says: 'Nothing was changed. Go back to the application that sent you here and start again.',
      };
    case 'expired':
      return {
        status: 410,
        title: 'The link has expired',
        says: 'Nothing was connected. Go back to the application that sent you here and start again.',
      };
    case 'used':
      return {
        status: 409,
        title: 'This link was already used',
        says: 'If your numbers do not appear as connected within a minute, go back to the application that sent you here and start again.',
      };
    case 'other_browser':
      return {
        status: 403,
        title: 'Started in another browser',
        says: 'Nothing was connected here. If you started this yourself, go back to the browser that you used, or start again in this one. If somebody sent you this link, close the page: your numbers would have been connected to their account.',
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
      says: 'Access was not granted, so nothing was connected. You can start again at any time.',
      code,
    };
  }
  if (code === OTHER_NUMBERS) {
    return {
      status: 409,
      title: 'Different numbers were approved',
      says: 'None of these numbers was connected here before, so nothing was changed. Go back to the application that sent you here, start again, and approve the same numbers as before. Other numbers need a separate connection.',
      code,
    };
  }
  const again =
    'Nothing was connected. Go back to the application that sent you here and start again. If this happens again, report this code:';
  const status = code === 'unavailable' ? 503 : 502;
  return { status, title: 'Something went wrong', says: again, code };
}
