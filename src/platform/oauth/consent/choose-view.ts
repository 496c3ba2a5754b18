import { SCOPE_MEANINGS } from '../../../contract/service/scopes.ts';
import { html, type Markup, shownName } from '../../../runtime/page/page.ts';
import type { OauthAnswer } from '../oauth-answer.ts';
import type { OwnedWorkspace } from '../portal-session.ts';
import { type ConsentView, consentForm, countConnections, DENY, showView } from './consent-view.ts';

function listScopes({ consent }: ConsentView): Markup {
  const items = consent.request.scopes.map((scope) => html`<li>${SCOPE_MEANINGS[scope]}</li>`);
  return html`<h2>What it asks for</h2><ul>${items}</ul>`;
}

function workspaceChoice({ id, connections, names }: OwnedWorkspace): Markup {
  const name = html`<span class="mark">${id}</span>`;
  if (connections === 0) {
    return html`<p class="choice soft">Workspace ${name}<br>No connection yet: there is nothing to share.</p>`;
  }
  const shown = names.map((each, place) => html`${place === 0 ? ': ' : ', '}${shownName(each)}`);
  const more = connections > names.length && names.length > 0 ? ' …' : '';
  return html`<button class="choice" name="workspace" value="${id}">Workspace ${name}
<span class="soft">${countConnections(connections)}${shown}${more}</span></button>`;
}

function offerWorkspaces(view: ConsentView, workspaces: readonly OwnedWorkspace[]): Markup {
  if (workspaces.length === 0) return html``;
  const fields = html`<input type="hidden" name="action" value="workspace">${workspaces.map(workspaceChoice)}`;
  return html`<h2>In the developer portal</h2><p>Choose the workspace it may use.</p>${consentForm(view, fields)}`;
}

function offerPortal(view: ConsentView): Markup {
  const { userCode } = view.consent;
  if (userCode === null) return html``;
  const go = html`<div class="actions"><button class="main" name="action" value="portal">Continue</button></div>`;
  return html`<h2>In a CRM portal</h2>
<p>An admin of the portal enters this code there, for all connections of the portal. Then continue.</p>
<p class="code">${userCode}</p>
<p class="soft">Enter it only if you opened this page yourself. It is good for ten minutes, and once.</p>
${consentForm(view, go)}`;
}

/** Who approves: the owner of one of these workspaces, or the admin of a portal. */
export function chooseView(view: ConsentView, workspaces: readonly OwnedWorkspace[]): OauthAnswer {
  const nobody =
    workspaces.length === 0 && view.consent.userCode === null
      ? html`<p>You own no workspace that could be shared.</p>`
      : html``;
  return showView(
    view,
    html`${listScopes(view)}${nobody}${offerWorkspaces(view, workspaces)}${offerPortal(view)}
${consentForm(view, html`<div class="actions">${DENY}</div>`)}`,
  );
}
