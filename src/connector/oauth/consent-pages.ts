import { html, type Markup, type Page, renderPage, shownName, shownNumber } from '../../runtime/page/page.ts';
import type { ConsentEnd, FinishedConsent } from './consents.ts';
import type { Flow } from './flow-store.ts';
import { type GrantedNumber, OTHER_NUMBERS } from './look-at-grant.ts';
import type { OauthApp } from './oauth-app.ts';

/** A page for the customer who consents. */
export interface ConsentPage {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly html: string;
}

/** The pages that a customer sees of the connector, before the service's own and after them. */
export interface ConsentPages {
  /** Asks whether to go on to the service. `cookieMissing`: the browser went on without the cookie of this page. */
  ask(flow: Pick<Flow, 'label' | 'returnUrl'>, cookieMissing: boolean): ConsentPage;
  /**
   * Says how a consent ended, and leads on to where the CRM wants its customer. Nothing that came with the request is
   * on the page. It leads on by itself, and not by a redirect: pages that post a consent may forbid redirects to others.
   */
  end(finished: Pick<FinishedConsent, 'end' | 'returnUrl'>): ConsentPage;
  /** When our own store or the way to it fails. */
  readonly unavailable: ConsentPage;
  /** What is told to those who ask for the head alone. */
  readonly head: ConsentPage;
}

/** A text page; `code` is for whoever is asked for help. */
interface Text {
  readonly status: number;
  readonly title: string;
  readonly says: string;
  readonly code?: string;
  readonly numbers?: readonly GrantedNumber[];
}

/** Numbers that are shown one by one. */
const MOST_SHOWN = 20;

/** Makes the pages of one app. They name the host at which its customers find them. */
export function createConsentPages(app: Pick<OauthApp, 'publicUrl' | 'authUrl'>): ConsentPages {
  const ownHost = new URL(app.publicUrl).host;
  const serviceHost = new URL(app.authUrl).host;

  function show(status: number, page: Omit<Page, 'owner' | 'about'>): ConsentPage {
    const about = html`Connects phone numbers of ${serviceHost}`;
    const rendered = renderPage({ owner: ownHost, about, ...page });
    const headers = { ...rendered.headers, 'Cross-Origin-Opener-Policy': 'same-origin' };
    return { status, headers, html: rendered.html };
  }

  function end({ end: ended, returnUrl }: Pick<FinishedConsent, 'end' | 'returnUrl'>): ConsentPage {
    const { status, title, says, code, numbers = [] } = textOf(ended);
    const onward = returnUrl === null ? null : returnTo(returnUrl, ended);
    return show(status, {
      title,
      heading: html`${title}`,
      content: html`${listNumbers(numbers)}<p>${says}</p>${
        // A code may be the service's own word.
        code === undefined ? html`` : html`\n<p class="soft"><code>${code}</code></p>`
      }${
        onward === null
          ? html``
          : html`\n<p class="actions"><a class="button main" href="${onward}">Continue</a></p>`
      }`,
      ...(onward === null ? {} : { goesOnTo: onward }),
    });
  }

  return {
    ask({ label, returnUrl }, cookieMissing) {
      const crm = returnUrl === null ? ownHost : new URL(returnUrl).host;
      const account =
        label === null ? html`an account` : html`the account <strong>${shownName(label)}</strong>`;
      const notice = html`<p class="notice" role="alert">Your browser did not send the cookie of this page. Allow cookies for ${ownHost}, then continue.</p>`;
      return show(cookieMissing ? 403 : 200, {
        title: 'Connect your numbers',
        heading: html`Connect your numbers`,
        content: html`${cookieMissing ? notice : html``}<p>They will be connected to ${account} at <strong>${crm}</strong>.</p>
<p>${serviceHost} will ask which numbers you share, and for what.</p>
<p class="notice">Continue only if you have just asked for this at ${crm} yourself. If somebody sent you this link, close the page: your numbers would be connected to an account of theirs.</p>
<form method="post"><p class="actions"><button class="main">Continue</button></p></form>`,
        // A browser holds the redirects behind the form to these, and a service may sign in at further hosts.
        formTargets: ["'self'", 'https:', new URL(app.authUrl).origin],
      });
    },
    end,
    unavailable: end({ end: { kind: 'failed', code: 'unavailable' }, returnUrl: null }),
    head: show(200, { title: 'Connect your numbers', heading: html`Connect your numbers`, content: html`` }),
  };
}

function listNumbers(numbers: readonly GrantedNumber[]): Markup {
  if (numbers.length === 0) return html``;
  const items = numbers
    .slice(0, MOST_SHOWN)
    .map(({ phoneNumber, label }) => html`<li>${shownNumber(phoneNumber, label ?? '')}</li>`);
  const more = numbers.length - items.length;
  return html`<ul>${items}${more > 0 ? html`<li class="soft">and ${more} more</li>` : html``}</ul>\n`;
}

/** The address that the CRM gave, with how it ended. Anybody can write that there, so it says nothing else. */
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
        title: end.again ? 'Connected already' : 'Connected',
        says: `${which} connected. You can close this page.`,
        numbers,
      };
    }
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
    case 'other_browser':
      return {
        status: 403,
        title: 'This was started in another browser',
        says: 'Nothing was connected here. If you started it yourself, go back to the browser in which you did, or start again in this one. If somebody sent you this link, close the page: your numbers would have been connected to an account of theirs.',
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
