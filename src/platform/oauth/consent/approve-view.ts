import { LIMITS } from '../../../contract/service/limits.ts';
import { SCOPE_MEANINGS, type Scope } from '../../../contract/service/scopes.ts';
import { html, type Markup, shownNumber } from '../../../runtime/page/page.ts';
import type { Answer } from '../../calls/answer.ts';
import { ASSUMPTIONS } from '../../kernel/assumptions.ts';
import type { readGrantable } from '../authorize/give-consent.ts';
import type { AuthorizationRequest } from '../authorize/read-request.ts';
import { type ConsentView, consentForm, DENY, pagePath, showView } from './consent-view.ts';

type Grantable = Awaited<ReturnType<typeof readGrantable>>;

/** A selection on the page. */
export interface Ticks {
  readonly connections: readonly string[];
  readonly scopes: readonly Scope[];
}

interface Box {
  readonly name: 'connection' | 'scope';
  readonly value: string;
  readonly ticked: boolean;
  readonly label: Markup;
  /** A second line, in small print. */
  readonly detail?: string;
}

function box({ name, value, ticked, label, detail }: Box): Markup {
  const checked = ticked ? html` checked` : html``;
  const more = detail === undefined ? html`` : html`<span class="soft small mark">${detail}</span>`;
  return html`<label><input type="checkbox" name="${name}" value="${value}"${checked}>
<span>${label}${more}</span></label>`;
}

function connectionBox({ id, label, phoneNumber }: Grantable[number], ticked: boolean): Markup {
  return box({ name: 'connection', value: id, ticked, label: shownNumber(phoneNumber, label) });
}

/** A group of checkboxes; `missing` is the message if none is checked. */
function group(legend: string, boxes: Markup, missing: string | null): Markup {
  const id = `${legend.toLowerCase()}-error`;
  const described = missing === null ? html`` : html` aria-describedby="${id}"`;
  const error = missing === null ? html`` : html`<p class="error" id="${id}">${missing}</p>`;
  return html`<fieldset${described}><legend>${legend}</legend>${error}${boxes}</fieldset>`;
}

function connectionGroup(connections: Grantable, given: Ticks | undefined): Markup {
  const isTicked = ({ id }: Grantable[number]): boolean => given?.connections.includes(id) ?? true;
  const boxes = connections.map((each) => connectionBox(each, isTicked(each)));
  const missing = connections.some(isTicked) ? null : 'Select at least one connection.';
  return group('Connections', html`<div class="boxes">${boxes}</div>`, missing);
}

/** The only scope that allows deleting numbers. */
const DELETES: Scope = 'messaging.manage';

/** Initially everything is selected, but the scope that allows deleting only if the app requested it by name. */
function scopeGroup({ scopes, namesScopes }: AuthorizationRequest, given: Ticks | undefined): Markup {
  const isTicked = (scope: Scope): boolean =>
    given?.scopes.includes(scope) ?? (namesScopes || scope !== DELETES);
  const boxOf = (scope: Scope): Markup =>
    box({
      name: 'scope',
      value: scope,
      ticked: isTicked(scope),
      label: html`${SCOPE_MEANINGS[scope]}`,
      detail: scope,
    });
  const apart = scopes.includes(DELETES)
    ? html`<div class="apart"><p>This permission allows the app to delete numbers, which cannot be undone.</p>${boxOf(DELETES)}</div>`
    : html``;
  const missing = given === undefined || scopes.some(isTicked) ? null : 'Select at least one permission.';
  return group(
    'Permissions',
    html`${scopes.filter((scope) => scope !== DELETES).map(boxOf)}${apart}`,
    missing,
  );
}

const DAY_MS = 86_400_000;
const countDays = (ms: number): string => `${Math.floor(ms / DAY_MS)} days`;

/** The sentence about the lifetime of a grant. */
function showDuration(): Markup {
  const most = countDays(ASSUMPTIONS.oauthGrantLifetimeMs.value);
  const idle = countDays(LIMITS.refreshTokenLifetimeMs);
  return html`<p class="soft small">Access ends after ${most} at the latest, or earlier if the app does not use it for ${idle}.</p>`;
}

const NOTHING_TO_SHARE = html`<p>This workspace has no connections yet. Pair a number first, then start again in the app.</p>
<div class="actions">${DENY}</div>`;

/**
 * The page of one workspace, with its connections and scopes. `hasChoice`: it links to the choice of workspaces.
 * `given`: a selection that gave no consent, which the page shows again.
 */
export function approveView(
  view: ConsentView,
  workspace: { readonly id: string; readonly hasChoice: boolean },
  connections: Grantable,
  given?: Ticks,
): Answer {
  const choice = html`${scopeGroup(view.consent.request, given)}
${connectionGroup(connections, given)}
${showDuration()}
<div class="actions stay"><button class="main" name="action" value="allow">Allow</button>${DENY}</div>`;
  const notice = 'Select at least one permission and one connection, or deny access.';
  const back = workspace.hasChoice
    ? html`<p class="back"><a href="${pagePath(view.consent)}">← Choose another workspace</a></p>`
    : html``;
  return showView(
    { ...view, ...(given === undefined ? {} : { notice }) },
    html`${back}<p class="soft small">Workspace <span class="mark">${workspace.id}</span></p>
${consentForm(
  view,
  html`<input type="hidden" name="workspace" value="${workspace.id}">
${connections.length === 0 ? NOTHING_TO_SHARE : choice}`,
)}`,
  );
}
