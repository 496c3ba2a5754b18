import type { Request } from 'express';
import { SCOPES, type Scope } from '../../../contract/service/scopes.ts';
import type { Queryable } from '../../../runtime/database/database.ts';
import { readCookies } from '../../../runtime/http-server/read-cookies.ts';
import type { Answer } from '../../calls/answer.ts';
import { passed, recognized } from '../../kernel/decision-trace.ts';
import type { DomainClock } from '../../time/domain-clock.ts';
import type { ChangeState } from '../../time/state-change.ts';
import { OAUTH_PATHS } from '../addresses.ts';
import { type App, findApp } from '../apps.ts';
import type { OpenRequest } from '../authorize/authorize.ts';
import { type Consent, giveConsent, readGrantable } from '../authorize/give-consent.ts';
import { codeAnswer, type Return, redirect, returnedRefusal } from '../oauth-answer.ts';
import { OauthError, PageRefusal } from '../oauth-error.ts';
import { type Parameters, readParameters } from '../parameters.ts';
import {
  type OwnedWorkspace,
  type PortalSession,
  type PortalSessions,
  readOwned,
} from '../portal-session.ts';
import { readForm } from '../read-form.ts';
import { approveView } from './approve-view.ts';
import { chooseView } from './choose-view.ts';
import {
  closeConsent,
  findConsent,
  isItsForm,
  keepAnswer,
  type OpenAnswer,
  type OpenConsent,
  openConsent,
  type Ticks,
} from './consent-store.ts';
import { type ConsentView, pagePath } from './consent-view.ts';
import { refusalPage } from './refusal-page.ts';

interface Options {
  readonly database: Queryable;
  readonly changeState: ChangeState;
  readonly clock: DomainClock;
  readonly portal: PortalSessions;
  /** Derives user codes. */
  readonly key: Uint8Array;
  issuer(): string;
}

/**
 * The consent pages. They work without JavaScript. A form that does not complete the consent redirects to a page, so
 * that reload and Back never submit a form again. [oauth.consent.standalone]
 */
export interface ConsentPages {
  /** Opens a consent for a checked request and shows its first page. */
  ask(open: OpenRequest): Promise<Answer>;
  /** Shows a page of an open consent (`pagePath`). `query` is without the `?`. */
  show(request: Request, query: string): Promise<Answer>;
  /** Handles a submitted form. */
  decide(request: Request): Promise<Answer>;
}

/** An open consent, requested by its browser. */
interface Opened {
  readonly app: App;
  readonly consent: OpenConsent;
  readonly view: ConsentView;
  readonly standalone: readonly OwnedWorkspace[];
}

/** A form of an open consent. */
interface Reply extends Opened {
  readonly parameters: Parameters;
}

const LISTS = ['connection', 'scope'];
const PAGE_PARAMETERS = ['consent', 'workspace'];

/** The name of the signed-in user, for display; null without a session. */
const signedInAs = (session: PortalSession | null): string | null =>
  session === null ? null : (session.name ?? 'the owner of its workspaces');

/** Refuses a form that belongs to no open consent of this browser. */
function refuseForm(): Answer {
  const why = 'This request has expired, or was opened in another browser. Start again in the app.';
  return refusalPage(new PageRefusal('page', why));
}

/**
 * Longer than the lifetime of a page, which is in virtual time and may be frozen. Without an expiry, a browser would
 * collect cookies until its headers are too large.
 */
const COOKIE_SECONDS = 3_600;

/** One cookie for each consent, so that several can be open at the same time. */
const cookieName = (consentId: string): string => `consent_${consentId}`;

export function createConsentPages(options: Options): ConsentPages {
  const { database, changeState, clock, portal, key, issuer } = options;

  const cookie = (consentId: string, secret: string, seconds: number): string => {
    const secure = issuer().startsWith('https:') ? '; Secure' : '';
    const scope = `Path=${OAUTH_PATHS.consent}; Max-Age=${seconds}; HttpOnly; SameSite=Lax${secure}`;
    return `${cookieName(consentId)}=${secret}; ${scope}`;
  };

  /** Deletes the cookie of an ended consent. */
  const ended = (consentId: string, answer: Answer): Answer => ({
    ...answer,
    headers: { ...answer.headers, 'Set-Cookie': cookie(consentId, '', 0) },
  });

  const readStandalone = async (session: PortalSession | null): Promise<OwnedWorkspace[]> =>
    (await readOwned(database, session)).filter(({ kind }) => kind === 'standalone');

  /** False if there is only the page of the user's only workspace. */
  const hasChoice = ({ consent, standalone }: Pick<Opened, 'consent' | 'standalone'>): boolean =>
    standalone.length !== 1 || consent.userCode !== null;

  const showWorkspace = async (
    opened: Pick<Opened, 'consent' | 'standalone' | 'view'>,
    { id }: OwnedWorkspace,
  ): Promise<Answer> => {
    const { request, answer } = opened.consent;
    const given = answer?.kind === 'ticks' && answer.workspaceId === id ? answer.ticks : null;
    const connections = await readGrantable(database, id, request);
    return approveView(opened.view, { id, hasChoice: hasChoice(opened) }, connections, given);
  };

  const showFirst = (opened: Pick<Opened, 'consent' | 'standalone' | 'view'>): Answer | Promise<Answer> => {
    const { view, consent, standalone } = opened;
    const [only] = standalone;
    if (only !== undefined && !hasChoice(opened)) return showWorkspace(opened, only);
    const notice = 'The code has not been entered in the portal yet.';
    return chooseView({ ...view, ...(consent.answer?.kind === 'too_early' ? { notice } : {}) }, standalone);
  };

  /** The open consent of an id and its cookie; null if there is none. */
  const find = async (request: Request, id: string | null): Promise<Opened | null> => {
    const browser = id === null ? null : (readCookies(request.headers.cookie).get(cookieName(id)) ?? null);
    const consent = await findConsent(database, key, { id, browser }, clock.now());
    const app = consent === null ? null : await findApp(database, consent.request.appId);
    if (app !== null) recognized(app.id);
    if (consent === null || app === null) return null;
    const session = portal.find(app);
    const view = { appName: app.name, signedIn: signedInAs(session), consent };
    return { app, consent, view, standalone: await readStandalone(session) };
  };

  /** Stores the content of a form and redirects to the page that shows it. */
  const leadOn = async (
    { consent }: Reply,
    answer: OpenAnswer | null,
    workspaceId?: string,
  ): Promise<Answer> => {
    await changeState((change) => keepAnswer(change, consent.id, answer));
    return redirect(pagePath(consent, workspaceId));
  };

  const back = ({ request: { redirectUri, state } }: OpenConsent): Return => ({
    redirectUri,
    state,
    issuer: issuer(),
  });

  /** Closes the consent with a grant; leaves it open if the grant is refused. */
  const grant = async ({ consent }: Reply, given: Consent): Promise<Answer> => {
    const code = await changeState(async (change) =>
      (await closeConsent(change, consent.id)) ? giveConsent(change, consent.request, given) : null,
    );
    if (code === null) return refuseForm();
    passed('consent', 'approved on the page');
    return ended(consent.id, codeAnswer(back(consent), code));
  };

  const deny = async ({ consent }: Reply): Promise<Answer> => {
    const closed = await changeState((change) => closeConsent(change, consent.id));
    if (!closed) return refuseForm();
    const refused = new OauthError('access_denied', 'the owner refused');
    return ended(consent.id, returnedRefusal(back(consent), refused));
  };

  const chosenWorkspace = ({ standalone }: Opened, parameters: Parameters): OwnedWorkspace | undefined =>
    standalone.find(({ id }) => id === parameters.get('workspace'));

  const tickedScopes = ({ parameters }: Reply): readonly Scope[] => {
    const ticked = parameters.all('scope');
    return SCOPES.filter((scope) => ticked.includes(scope));
  };

  const allow = async (reply: Reply): Promise<Answer> => {
    const { parameters } = reply;
    const workspace = chosenWorkspace(reply, parameters);
    if (workspace === undefined) return refuseForm();
    const scopes = tickedScopes(reply);
    const connectionIds = parameters.all('connection');
    try {
      return await grant(reply, { workspaceId: workspace.id, scopes, connectionIds });
    } catch (error) {
      if (!(error instanceof OauthError)) throw error;
      const ticks: Ticks = { connections: connectionIds, scopes, judged: true };
      const answer: OpenAnswer = { kind: 'ticks', workspaceId: workspace.id, ticks };
      return { ...(await leadOn(reply, answer, workspace.id)), refused: error };
    }
  };

  const goOn = async (reply: Reply): Promise<Answer> => {
    const { consent } = reply;
    const { portalWorkspaceId: workspaceId, request } = consent;
    if (workspaceId === null) {
      const refused = new OauthError('access_denied', 'no portal admin has entered the user code yet');
      return { ...(await leadOn(reply, { kind: 'too_early' })), refused };
    }
    const connectionIds = (await readGrantable(database, workspaceId, request)).map(({ id }) => id);
    try {
      return await grant(reply, { workspaceId, scopes: request.scopes, connectionIds });
    } catch (error) {
      if (error instanceof OauthError) return returnedRefusal(back(consent), error);
      throw error;
    }
  };

  const choose = async (reply: Reply, connections?: Ticks['connections']): Promise<Answer> => {
    const workspace = chosenWorkspace(reply, reply.parameters);
    if (workspace === undefined) return refuseForm();
    passed('consent', 'a workspace was chosen, its connections are shown');
    const answer: OpenAnswer | null =
      connections === undefined
        ? null
        : {
            kind: 'ticks',
            workspaceId: workspace.id,
            ticks: { connections, scopes: tickedScopes(reply), judged: false },
          };
    return leadOn(reply, answer, workspace.id);
  };

  const actions: ReadonlyMap<string, (reply: Reply) => Promise<Answer>> = new Map([
    ['workspace', (reply) => choose(reply)],
    ['again', (reply) => choose(reply, reply.parameters.all('connection'))],
    ['all', (reply) => choose(reply, 'all')],
    ['none', (reply) => choose(reply, [])],
    ['allow', allow],
    ['portal', goOn],
    ['deny', deny],
  ]);

  return {
    async ask({ client: { app }, request, session }) {
      const owned = await readOwned(database, session);
      const standalone = owned.filter(({ kind }) => kind === 'standalone');
      const asksPortal = owned.length === 0 || standalone.length < owned.length;
      const { consent, browser } = await openConsent(changeState, key, request, asksPortal);
      passed('consent', 'the consent page is shown');
      const headers = { 'Set-Cookie': cookie(consent.id, browser, COOKIE_SECONDS) };
      const view = { appName: app.name, signedIn: signedInAs(session), consent, headers };
      return showFirst({ view, consent, standalone });
    },

    async show(request, query) {
      const parameters = readParameters(query);
      const opened = await find(request, parameters.get('consent'));
      // The query selects a page. It never contains answers.
      if (opened === null || !parameters.names.every((name) => PAGE_PARAMETERS.includes(name))) {
        return refuseForm();
      }
      passed('page');
      if (!parameters.has('workspace')) return showFirst(opened);
      const workspace = chosenWorkspace(opened, parameters);
      return workspace === undefined ? refuseForm() : showWorkspace(opened, workspace);
    },

    async decide(request) {
      const parameters = await readForm(request, LISTS);
      const opened = await find(request, parameters.get('consent'));
      const act = actions.get(parameters.get('action') ?? '');
      if (opened === null || act === undefined || !isItsForm(opened.consent, parameters.get('form'))) {
        return refuseForm();
      }
      passed('page');
      return act({ ...opened, parameters });
    },
  };
}
