import { SCOPE_MEANINGS, type Scope } from '../../../contract/service/scopes.ts';
import { html, type Markup, shownName } from '../../../runtime/page/page.ts';
import type { readGrantable } from '../authorize/give-consent.ts';
import type { OauthAnswer } from '../oauth-answer.ts';
import { type ConsentView, consentForm, countConnections, DENY, showView } from './consent-view.ts';

/** What is ticked on a page. */
export interface Ticks {
  readonly connections: readonly string[] | 'all';
  readonly scopes: readonly string[] | 'all';
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

/** A button that ticks all boxes of many connections, or none. */
function offerAll(count: number, none: boolean): Markup {
  if (count < MANY) return html``;
  const [action, what] = none ? ['all', 'Tick all'] : ['none', 'Untick all'];
  return html`<div class="all"><span>${countConnections(count)}</span>
<button class="small" name="action" value="${action}">${what}</button></div>`;
}

function connectionGroup(connections: Grantable, { connections: ticked, judged }: Ticks): Markup {
  const chosen = connections.filter(({ id }) => ticked === 'all' || ticked.includes(id));
  const boxes = connections.map((each) => connectionBox(each, chosen.includes(each)));
  const none = chosen.length === 0;
  const missing = judged && none ? 'Tick at least one connection.' : null;
  const all = offerAll(connections.length, none);
  return group('Connections', html`${all}<div class="boxes">${boxes}</div>`, missing);
}

function scopeGroup(scopes: readonly Scope[], { scopes: ticked, judged }: Ticks): Markup {
  const chosen = scopes.filter((scope) => ticked === 'all' || ticked.includes(scope));
  const boxes = scopes.map((scope) =>
    box({
      name: 'scope',
      value: scope,
      ticked: chosen.includes(scope),
      label: html`${SCOPE_MEANINGS[scope]}`,
      detail: scope,
    }),
  );
  const missing = judged && chosen.length === 0 ? 'Tick at least one permission.' : null;
  return group('Permissions', html`${boxes}`, missing);
}

const NOTHING_TO_SHARE = html`<p>This workspace has no connection yet. Pair a number first, then start again in the app.</p>
<div class="actions">${DENY}</div>`;

/** What is approved: connections and scopes of one workspace. Unless told, all are ticked. */
export function approveView(
  view: ConsentView,
  workspaceId: string,
  connections: Grantable,
  ticks: Ticks = { connections: 'all', scopes: 'all', judged: false },
): OauthAnswer {
  const choice = html`${scopeGroup(view.consent.request.scopes, ticks)}
${connectionGroup(connections, ticks)}
<div class="actions stay"><button class="main" name="action" value="allow">Allow</button>${DENY}</div>`;
  const notice = 'Nothing was shared yet. Tick what it may do and use, or refuse.';
  return showView(
    { ...view, ...(ticks.judged ? { notice } : {}) },
    html`<p>Workspace <span class="mark">${workspaceId}</span></p>
${consentForm(
  view,
  html`${ON_ENTER}<input type="hidden" name="workspace" value="${workspaceId}">
${connections.length === 0 ? NOTHING_TO_SHARE : choice}`,
)}`,
  );
}
