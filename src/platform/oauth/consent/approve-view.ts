import { SCOPE_MEANINGS } from '../../../contract/service/scopes.ts';
import type { readGrantable } from '../authorize/give-consent.ts';
import type { OauthAnswer } from '../oauth-answer.ts';
import { type ConsentView, consentForm, countConnections, DENY, showView } from './consent-view.ts';
import { html, type Markup, shownName } from './page.ts';

/** What is ticked on a page. */
export interface Ticks {
  readonly connections: readonly string[];
  readonly scopes: readonly string[];
  /** Somebody pressed the button with it: what is missing is told. */
  readonly judged: boolean;
}

type Grantable = Awaited<ReturnType<typeof readGrantable>>;

/** From how many connections on unticking them one by one is too much to ask. */
const MANY = 6;

interface Box {
  readonly name: 'connection' | 'scope';
  readonly value: string;
  readonly ticked: boolean;
  readonly label: Markup;
  /** A second line, in small. */
  readonly detail: string;
}

function box({ name, value, ticked, label, detail }: Box): Markup {
  const checked = ticked ? html` checked` : html``;
  const more = detail === '' ? html`` : html`<span class="soft">${detail}</span>`;
  return html`<label><input type="checkbox" name="${name}" value="${value}"${checked}>
<span>${label}${more}</span></label>`;
}

function connectionBox({ id, label, phoneNumber }: Grantable[number], ticked: boolean): Markup {
  const number = phoneNumber === null ? 'not paired yet' : `+${phoneNumber}`;
  const named = label !== '' && label !== phoneNumber;
  const value = { name: 'connection', value: id, ticked } as const;
  return box({ ...value, label: named ? shownName(label) : html`${number}`, detail: named ? number : '' });
}

/** A group of boxes; `missing` says what to do where none is ticked. */
function group(legend: string, boxes: Markup, missing: string | null): Markup {
  const id = `${legend.toLowerCase()}-error`;
  const described = missing === null ? html`` : html` aria-describedby="${id}"`;
  const error = missing === null ? html`` : html`<p class="error" id="${id}">${missing}</p>`;
  return html`<fieldset${described}><legend>${legend}</legend>${error}${boxes}</fieldset>`;
}

/**
 * The first button of a form is what the Enter key presses in a box. A consent is given by its own button alone,
 * so this one shows the page again as it is.
 */
const ON_ENTER = html`<button name="action" value="again" hidden>Show again</button>`;

/** Ticks all boxes of many connections, or none. */
function offerAll(view: ConsentView, workspaceId: string, count: number, none: boolean): Markup {
  if (count < MANY) return html``;
  const [action, what] = none ? ['workspace', 'Tick all'] : ['none', 'Untick all'];
  return consentForm(
    view,
    html`<input type="hidden" name="workspace" value="${workspaceId}">
<div class="all"><span>${countConnections(count)}</span>
<button class="small" name="action" value="${action}">${what}</button></div>`,
  );
}

/** What is approved: connections and scopes of one workspace. Without `ticks` all are ticked. */
export function approveView(
  view: ConsentView,
  workspaceId: string,
  connections: Grantable,
  ticks?: Ticks,
): OauthAnswer {
  const { scopes } = view.consent.request;
  const chosen = connections.filter(({ id }) => ticks === undefined || ticks.connections.includes(id));
  const allowed = scopes.filter((scope) => ticks === undefined || ticks.scopes.includes(scope));
  const judged = ticks?.judged === true;
  const noConnection = judged && chosen.length === 0 ? 'Tick at least one connection.' : null;
  const noScope = judged && allowed.length === 0 ? 'Tick at least one permission.' : null;
  const marked = noConnection !== null || noScope !== null;
  const wrong = marked ? 'Correct what is marked below, or refuse.' : 'What you chose has changed meanwhile.';
  const notice = judged ? `Nothing was shared yet. ${wrong}` : view.notice;
  const boxes = connections.map((each) => connectionBox(each, chosen.includes(each)));
  const scopeBoxes = scopes.map((scope) =>
    box({
      name: 'scope',
      value: scope,
      ticked: allowed.includes(scope),
      label: html`${SCOPE_MEANINGS[scope]}`,
      detail: scope,
    }),
  );
  const nothing = html`<p>This workspace has no connection yet. Pair a number first, then start again in the app.</p>`;
  const choice = html`${group('Permissions', html`${scopeBoxes}`, noScope)}
${group('Connections', html`<div class="boxes">${boxes}</div>`, noConnection)}`;
  const empty = connections.length === 0;
  const allow = html`<button class="main" name="action" value="allow">Allow</button>`;
  return showView(
    { ...view, ...(notice === undefined ? {} : { notice }) },
    html`<p>Workspace <span class="mark">${workspaceId}</span></p>
${offerAll(view, workspaceId, connections.length, chosen.length === 0)}
${consentForm(
  view,
  html`${ON_ENTER}<input type="hidden" name="workspace" value="${workspaceId}">
${empty ? nothing : choice}
<div class="actions stay">${empty ? html`` : allow}${DENY}</div>`,
)}`,
  );
}
