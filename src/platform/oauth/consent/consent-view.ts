import {
  html,
  type Markup,
  type Page,
  plainName,
  renderPage,
  shownName,
} from '../../../runtime/page/page.ts';
import type { Answer } from '../../calls/answer.ts';
import { OAUTH_PATHS } from '../addresses.ts';
import type { PageRefusal } from '../oauth-error.ts';
import { isLoopback } from '../redirect-uri.ts';
import type { OpenConsent } from './consent-store.ts';

/** The data that all pages of a consent show. */
export interface ConsentView {
  readonly appName: string;
  /** The name of the signed-in user; null without a session. */
  readonly signedIn: string | null;
  readonly consent: OpenConsent;
  /** What was wrong with the previous form; a sentence. */
  readonly notice?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The sentence about the redirect target, the only property of an app that it cannot choose freely. */
function destination({ consent }: ConsentView): Markup {
  const { redirectUri } = consent.request;
  const { host, protocol } = new URL(redirectUri);
  const place = isLoopback(redirectUri) ? `this device (${host})` : host;
  const where = host === '' ? `the app ${protocol.slice(0, -1)} on this device` : place;
  return html`<p class="soft">Afterwards you will be redirected to <strong>${where}</strong>.</p>`;
}

/** A page of the service as an answer. */
function pageAnswer(
  page: Omit<Page, 'owner'>,
  status: number,
  headers: Readonly<Record<string, string>> = {},
): Answer {
  const rendered = renderPage({ owner: 'Messaging service', ...page });
  return { status, headers: { ...rendered.headers, ...headers }, body: rendered.html };
}

/** The page for a refusal that must not be redirected to the app. */
export function refusalPage(refused: PageRefusal): Answer {
  // The developer cannot help with a form that is too late.
  const next = refused.check === 'page' ? '' : ' Return to the app and contact its developer.';
  const content = html`<p role="alert">${refused.message}</p>
<p class="soft">This page shares nothing.${next}</p>`;
  const title = 'Invalid request';
  return { ...pageAnswer({ title, heading: html`${title}`, content }, 400), refused };
}

/** The source for `form-action`: an origin, or a scheme without one. */
function sourceOf(redirectUri: string): string {
  const { origin, protocol } = new URL(redirectUri);
  return origin === 'null' ? protocol : origin;
}

/** A page with heading, redirect target and notice. */
export function showView(view: ConsentView, content: Markup): Answer {
  const { appName, signedIn, consent, notice, headers } = view;
  const alert = notice === undefined ? html`` : html`<p class="notice" role="alert">${notice}</p>`;
  const page = {
    title: `${notice === undefined ? '' : 'Not yet: '}${plainName(appName)} asks for access`,
    about:
      signedIn === null
        ? html`Not signed in to the developer portal`
        : html`Developer portal, signed in as ${signedIn}`,
    heading: html`${shownName(appName)} asks for access`,
    content: html`${destination(view)}${alert}${content}`,
    formTargets: ["'self'", sourceOf(consent.request.redirectUri)],
  };
  return pageAnswer(page, notice === undefined ? 200 : 400, headers);
}

/** The path of a consent's page; with `workspaceId`, of the page of that workspace. */
export function pagePath({ id }: OpenConsent, workspaceId?: string): string {
  const parameters = { consent: id, ...(workspaceId === undefined ? {} : { workspace: workspaceId }) };
  return `${OAUTH_PATHS.consent}?${new URLSearchParams(parameters)}`;
}

/** A form of the page. */
export function consentForm({ consent }: ConsentView, content: Markup): Markup {
  return html`<form method="post" action="${OAUTH_PATHS.consent}">
<input type="hidden" name="consent" value="${consent.id}">
${content}
</form>`;
}

/** The button that denies access. */
export const DENY = html`<button name="action" value="deny">Deny</button>`;

/** The number of connections, as text. */
export function countConnections(count: number): string {
  return count === 1 ? '1 connection' : `${count} connections`;
}
