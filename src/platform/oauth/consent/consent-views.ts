import { SCOPE_MEANINGS } from '../../../contract/service/scopes.ts';
import { OAUTH_PATHS } from '../addresses.ts';
import type { readGrantable } from '../authorize/give-consent.ts';
import type { OauthAnswer } from '../oauth-answer.ts';
import type { OwnedWorkspace } from '../portal-session.ts';
import type { OpenConsent } from './consent-store.ts';
import { html, type Markup, pageAnswer } from './page.ts';

/** What every page of a consent shows and carries along. */
export interface ConsentView {
  readonly appName: string;
  readonly consent: OpenConsent;
  /** The field that proves that a form is ours. */
  readonly form: string;
  /** What was wrong with the form before; a sentence. */
  readonly notice?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

type Grantable = Awaited<ReturnType<typeof readGrantable>>;

function show({ appName, consent, notice, headers }: ConsentView, content: Markup): OauthAnswer {
  const alert = notice === undefined ? html`` : html`<p class="notice" role="alert">${notice}</p>`;
  return pageAnswer(`${appName} asks for access`, html`${alert}${content}`, {
    status: notice === undefined ? 200 : 400,
    leadsTo: consent.request.redirectUri,
    ...(headers === undefined ? {} : { headers }),
  });
}

function form({ consent, form: field }: ConsentView, content: Markup): Markup {
  return html`<form method="post" action="${OAUTH_PATHS.consent}">
<input type="hidden" name="consent" value="${consent.id}">
<input type="hidden" name="form" value="${field}">
${content}
</form>`;
}

const DENY = html`<button name="action" value="deny">Refuse</button>`;

function listScopes({ consent }: ConsentView): Markup {
  const items = consent.request.scopes.map((scope) => html`<li>${SCOPE_MEANINGS[scope]}</li>`);
  return html`<p>It asks to:</p><ul>${items}</ul>`;
}

function offerWorkspaces(view: ConsentView, workspaces: readonly OwnedWorkspace[]): Markup {
  if (workspaces.length === 0) return html``;
  const choices = workspaces.map(
    ({ id, connections }) => html`<button class="choice" name="workspace" value="${id}">Workspace ${id}
<span class="soft">${connections === 1 ? '1 connection' : `${connections} connections`}</span></button>`,
  );
  const fields = html`<input type="hidden" name="action" value="workspace">${choices}`;
  return html`<h2>In the developer portal</h2><p>Choose the workspace it may use.</p>${form(view, fields)}`;
}

function offerPortal(view: ConsentView): Markup {
  const { userCode } = view.consent;
  if (userCode === null) return html``;
  const go = html`<div class="actions"><button class="main" name="action" value="portal">Continue</button></div>`;
  return html`<h2>In a CRM portal</h2>
<p>An admin of the portal enters this code there. Then continue.</p>
<p class="code">${userCode}</p>
<p class="soft">Enter it only if you opened this page yourself. It is good for ten minutes, and once.</p>
${form(view, go)}`;
}

/** Who approves: the owner of one of these workspaces, or the admin of a portal. */
export function chooseView(view: ConsentView, workspaces: readonly OwnedWorkspace[]): OauthAnswer {
  const nobody =
    workspaces.length === 0 && view.consent.userCode === null
      ? html`<p>You own no workspace that could be shared.</p>`
      : html``;
  return show(
    view,
    html`${listScopes(view)}${nobody}${offerWorkspaces(view, workspaces)}${offerPortal(view)}
${form(view, html`<div class="actions">${DENY}</div>`)}`,
  );
}

/** What is approved: connections and scopes of one workspace. All are ticked to begin with. */
export function approveView(view: ConsentView, workspaceId: string, connections: Grantable): OauthAnswer {
  const boxes = connections.map(
    ({
      id,
      label,
      phoneNumber,
    }) => html`<label><input type="checkbox" name="connection" value="${id}" checked>
<span>${label === '' ? 'Without a name' : label}<span class="soft">${phoneNumber === null ? 'not paired yet' : `+${phoneNumber}`}</span></span></label>`,
  );
  const scopes = view.consent.request.scopes.map(
    (scope) => html`<label><input type="checkbox" name="scope" value="${scope}" checked>
<span>${SCOPE_MEANINGS[scope]}<span class="soft">${scope}</span></span></label>`,
  );
  const none = html`<p>This workspace has no connection yet. Pair a number first, then start again in the app.</p>`;
  const choice = html`<fieldset><legend>Connections</legend>${boxes}</fieldset>
<fieldset><legend>Permissions</legend>${scopes}</fieldset>`;
  const allow = html`<button class="main" name="action" value="allow">Allow</button>`;
  return show(
    view,
    html`<p>Workspace <strong>${workspaceId}</strong></p>
${form(
  view,
  html`<input type="hidden" name="workspace" value="${workspaceId}">
${connections.length === 0 ? none : choice}
<div class="actions">${connections.length === 0 ? html`` : allow}${DENY}</div>`,
)}`,
  );
}
