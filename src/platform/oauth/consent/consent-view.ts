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
import { isLoopback } from '../redirect-uri.ts';
import type { OpenConsent } from './consent-store.ts';

/** What every page of a consent shows and carries along. */
export interface ConsentView {
  readonly appName: string;
  /** As whom somebody is signed in; null: nobody is. */
  readonly signedIn: string | null;
  readonly consent: OpenConsent;
  /** What was wrong with the form before; a sentence. */
  readonly notice?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Where somebody is sent afterwards, in words: the one thing about an app that it cannot choose freely. */
function destination({ consent }: ConsentView): Markup {
  const { redirectUri } = consent.request;
  const { host, protocol } = new URL(redirectUri);
  const place = isLoopback(redirectUri) ? `this device (${host})` : host;
  const where = host === '' ? `the app ${protocol.slice(0, -1)} on this device` : place;
  return html`<p class="soft">Afterwards you will be redirected to <strong>${where}</strong>.</p>`;
}

/** A page of the service as an answer. */
export function pageAnswer(
  page: Omit<Page, 'owner'>,
  status: number,
  headers: Readonly<Record<string, string>> = {},
): Answer {
  const rendered = renderPage({ owner: 'Messaging service', ...page });
  return { status, headers: { ...rendered.headers, ...headers }, body: rendered.html };
}

/** What may follow `form-action`: an origin, or a scheme that has none. */
function sourceOf(redirectUri: string): string {
  const { origin, protocol } = new URL(redirectUri);
  return origin === 'null' ? protocol : origin;
}

/** A page with a heading, where it leads, and what was wrong before. */
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

/** Where the page of a consent stands; `workspaceId`: that of one workspace. */
export function pagePath({ id }: OpenConsent, workspaceId?: string): string {
  const parameters = { consent: id, ...(workspaceId === undefined ? {} : { workspace: workspaceId }) };
  return `${OAUTH_PATHS.consent}?${new URLSearchParams(parameters)}`;
}

/** A form of the page. */
export function consentForm({ consent }: ConsentView, content: Markup): Markup {
  return html`<form method="post" action="${OAUTH_PATHS.consent}">
<input type="hidden" name="consent" value="${consent.id}">
<input type="hidden" name="form" value="${consent.form}">
${content}
</form>`;
}

/** The button that refuses. */
export const DENY = html`<button name="action" value="deny">Deny</button>`;

/** How many, in words. */
export function countConnections(count: number): string {
  return count === 1 ? '1 connection' : `${count} connections`;
}
