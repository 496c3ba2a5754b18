import { SCOPE_MEANINGS } from '../../../contract/service/scopes.ts';
import { html, type Markup, shownNumber } from '../../../runtime/page/page.ts';
import type { Answer } from '../../calls/answer.ts';
import type { OwnedWorkspace } from '../portal-session.ts';
import { type ConsentView, consentForm, countConnections, DENY, pagePath, showView } from './consent-view.ts';

function listScopes({ consent }: ConsentView): Markup {
  const items = consent.request.scopes.map((scope) => html`<li>${SCOPE_MEANINGS[scope]}</li>`);
  return html`<h2>Requested permissions</h2><ul>${items}</ul>`;
}

/** A workspace, shown by its numbers, because users do not know its id. */
function workspaceChoice(
  { consent }: ConsentView,
  { id, connections, numbers, labels }: OwnedWorkspace,
): Markup {
  const name = html`workspace <span class="mark">${id}</span>`;
  if (connections === 0) {
    return html`<p class="choice soft"><span>No connections yet: there is nothing to share.<br><span class="small">${name}</span></span></p>`;
  }
  const shown = numbers.map((number, place) => html`<li>${shownNumber(number, labels[place] ?? '')}</li>`);
  const rest = connections - numbers.length;
  const more = rest > 0 ? html`<li class="soft">and ${rest} more</li>` : html``;
  return html`<a class="choice" href="${pagePath(consent, id)}"><span>
<ul>${shown}${more}</ul><span class="soft small">${countConnections(connections)} · ${name}</span></span><span class="go" aria-hidden="true">Choose</span></a>`;
}

function offerWorkspaces(view: ConsentView, workspaces: readonly OwnedWorkspace[]): Markup {
  if (workspaces.length === 0) return html``;
  const shareable = (workspace: OwnedWorkspace): boolean => workspace.connections > 0;
  const sorted = [...workspaces.filter(shareable), ...workspaces.filter((each) => !shareable(each))];
  return html`<h2>Choose a workspace</h2>
<p class="soft">On the next page you choose the connections and permissions.</p>${sorted.map((each) => workspaceChoice(view, each))}`;
}

// [choice.oauth.user-code]
function offerPortal(view: ConsentView, isOnlyWay: boolean): Markup {
  const { userCode } = view.consent;
  if (userCode === null) return html``;
  const look = isOnlyWay ? html` class="main"` : html``;
  const go = html`<div class="actions"><button${look} name="action" value="portal">I have entered the code</button></div>`;
  return html`<h2>Approve in a CRM portal</h2>
<p>A portal admin must enter this code in the portal. It grants access to all connections of the portal.</p>
<p class="code">${userCode}</p>
<p class="soft">Share it only if you opened this page yourself. It can be used once, within ten minutes.</p>
${consentForm(view, go)}`;
}

/** The page that offers the user's workspaces, or the approval by a portal admin. */
export function chooseView(view: ConsentView, workspaces: readonly OwnedWorkspace[]): Answer {
  const offersBoth = workspaces.length > 0 && view.consent.userCode !== null;
  const nobody =
    workspaces.length === 0 && view.consent.userCode === null
      ? html`<p>You do not own a workspace that can be shared.</p>`
      : html``;
  const or = offersBoth ? html`<p class="or">or</p>` : html``;
  return showView(
    view,
    html`${listScopes(view)}${nobody}${offerWorkspaces(view, workspaces)}${or}${offerPortal(view, !offersBoth)}
${consentForm(view, html`<div class="actions">${DENY}</div>`)}`,
  );
}
