import type { Request } from 'express';
import { SCOPES } from '../../../contract/service/scopes.ts';
import type { Queryable } from '../../../runtime/database/database.ts';
import { passed, recognized } from '../../decision-trace.ts';
import type { ChangeState } from '../../state-change.ts';
import type { DomainClock } from '../../time/domain-clock.ts';
import { OAUTH_PATHS } from '../addresses.ts';
import { type App, findApp } from '../apps.ts';
import type { OpenRequest } from '../authorize/authorize.ts';
import { type Consent, giveConsent, readGrantable } from '../authorize/give-consent.ts';
import { codeAnswer, type OauthAnswer, type Return, returnedRefusal } from '../oauth-answer.ts';
import { OauthError, PageRefusal } from '../oauth-error.ts';
import type { Parameters } from '../parameters.ts';
import {
  type OwnedWorkspace,
  type PortalSession,
  type PortalSessions,
  readOwned,
} from '../portal-session.ts';
import { readForm } from '../read-form.ts';
import { approveView, type Ticks } from './approve-view.ts';
import { chooseView } from './choose-view.ts';
import { closeConsent, findConsent, type OpenConsent, openConsent } from './consent-store.ts';
import type { ConsentView } from './consent-view.ts';
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

/** Asks people. Works without script. Implements `OAuth 2.0: consent`. */
export interface ConsentPages {
  /** The first page of a checked request. */
  ask(open: OpenRequest): Promise<OauthAnswer>;
  /** What somebody answered on a page. */
  decide(request: Request): Promise<OauthAnswer>;
}

/** A form that belongs to an open consent. */
interface Reply {
  readonly app: App;
  readonly consent: OpenConsent;
  readonly parameters: Parameters;
  readonly view: ConsentView;
  readonly standalone: readonly OwnedWorkspace[];
}

const LISTS = ['connection', 'scope'];

/** A form that is of no open page in this browser. */
function refuseForm(): OauthAnswer {
  const why = 'This request is over, or was opened in another browser. Start again in the app.';
  return refusalPage(new PageRefusal('page', why));
}

/**
 * Longer than a page is good for, since that is measured in virtual time, which may stand; without an end a
 * browser would gather them until no server takes its headers.
 */
const COOKIE_SECONDS = 3_600;

/** One cookie for each page, so that two of them can stand open side by side. */
const cookieName = (consentId: string): string => `consent_${consentId}`;

function readCookie(request: Request, name: string): string | null {
  for (const pair of (request.headers.cookie ?? '').split(';')) {
    const [key = '', value = ''] = pair.trim().split('=', 2);
    if (key === name) return value;
  }
  return null;
}

export function createConsentPages(options: Options): ConsentPages {
  const { database, changeState, clock, portal, key, issuer } = options;

  const cookie = (consentId: string, secret: string, seconds: number): string => {
    const secure = issuer().startsWith('https:') ? '; Secure' : '';
    const scope = `Path=${OAUTH_PATHS.consent}; Max-Age=${seconds}; HttpOnly; SameSite=Lax${secure}`;
    return `${cookieName(consentId)}=${secret}; ${scope}`;
  };

  /** The page is over: its cookie goes, too. */
  const ended = (consentId: string, answer: OauthAnswer): OauthAnswer => ({
    ...answer,
    headers: { ...answer.headers, 'Set-Cookie': cookie(consentId, '', 0) },
  });

  const readStandalone = async (session: PortalSession | null): Promise<OwnedWorkspace[]> =>
    (await readOwned(database, session)).filter(({ kind }) => kind === 'standalone');

  const showWorkspace = async (
    view: ConsentView,
    { id }: OwnedWorkspace,
    ticks?: Ticks,
  ): Promise<OauthAnswer> =>
    approveView(view, id, await readGrantable(database, id, view.consent.request), ticks);

  const showFirst = (
    view: ConsentView,
    standalone: readonly OwnedWorkspace[],
  ): OauthAnswer | Promise<OauthAnswer> => {
    const [only, second] = standalone;
    const asksOne = only !== undefined && second === undefined && view.consent.userCode === null;
    return asksOne ? showWorkspace(view, only) : chooseView(view, standalone);
  };

  const back = ({ request: { redirectUri, state } }: OpenConsent): Return => ({
    redirectUri,
    state,
    issuer: issuer(),
  });

  /** Closes the consent with a grant, or leaves it open where the grant is refused. */
  const grant = async ({ consent }: Reply, given: Consent): Promise<OauthAnswer> => {
    const code = await changeState(async (change) =>
      (await closeConsent(change, consent.id)) ? giveConsent(change, consent.request, given) : null,
    );
    if (code === null) return refuseForm();
    passed('consent', 'approved on the page');
    return ended(consent.id, codeAnswer(back(consent), code));
  };

  const deny = async ({ consent }: Reply): Promise<OauthAnswer> => {
    const closed = await changeState((change) => closeConsent(change, consent.id));
    if (!closed) return refuseForm();
    const refused = new OauthError('access_denied', 'the owner refused');
    return ended(consent.id, returnedRefusal(back(consent), refused));
  };

  const chosenWorkspace = ({ parameters, standalone }: Reply): OwnedWorkspace | undefined =>
    standalone.find(({ id }) => id === parameters.get('workspace'));

  const allow = async (reply: Reply): Promise<OauthAnswer> => {
    const { parameters, view } = reply;
    const workspace = chosenWorkspace(reply);
    if (workspace === undefined) return refuseForm();
    const ticked = parameters.all('scope');
    const scopes = SCOPES.filter((scope) => ticked.includes(scope));
    const connectionIds = parameters.all('connection');
    try {
      return await grant(reply, { workspaceId: workspace.id, scopes, connectionIds });
    } catch (error) {
      if (!(error instanceof OauthError)) throw error;
      const ticks: Ticks = { connections: connectionIds, scopes, judged: true };
      return { ...(await showWorkspace(view, workspace, ticks)), refused: error };
    }
  };

  const goOn = async (reply: Reply): Promise<OauthAnswer> => {
    const { consent, view, standalone } = reply;
    const { portalWorkspaceId: workspaceId, request } = consent;
    if (workspaceId === null) {
      const refused = new OauthError('access_denied', 'no portal has taken the user code yet');
      const notice = 'The code has not been entered in the portal yet.';
      return { ...chooseView({ ...view, notice }, standalone), refused };
    }
    const connectionIds = (await readGrantable(database, workspaceId, request)).map(({ id }) => id);
    try {
      return await grant(reply, { workspaceId, scopes: request.scopes, connectionIds });
    } catch (error) {
      if (error instanceof OauthError) return returnedRefusal(back(consent), error);
      throw error;
    }
  };

  const choose = async (reply: Reply, ticks?: Ticks): Promise<OauthAnswer> => {
    const workspace = chosenWorkspace(reply);
    if (workspace === undefined) return refuseForm();
    passed('consent', 'a workspace was chosen, its connections are shown');
    return showWorkspace(reply.view, workspace, ticks);
  };

  /** Shows the page again, with the connections that are ticked now. */
  const showAgain = (reply: Reply, connections: Ticks['connections']): Promise<OauthAnswer> =>
    choose(reply, { connections, scopes: reply.parameters.all('scope'), judged: false });

  const actions: ReadonlyMap<string, (reply: Reply) => Promise<OauthAnswer>> = new Map([
    ['workspace', (reply) => choose(reply)],
    ['again', (reply) => showAgain(reply, reply.parameters.all('connection'))],
    ['all', (reply) => showAgain(reply, 'all')],
    ['none', (reply) => showAgain(reply, [])],
    ['allow', allow],
    ['portal', goOn],
    ['deny', deny],
  ]);

  return {
    async ask({ client: { app }, request, session }) {
      const owned = await readOwned(database, session);
      const standalone = owned.filter(({ kind }) => kind === 'standalone');
      const asksPortal = owned.length === 0 || standalone.length < owned.length;
      const { consent, secrets } = await openConsent(changeState, key, request, asksPortal);
      passed('consent', 'somebody is asked on a page');
      const headers = { 'Set-Cookie': cookie(consent.id, secrets.browser, COOKIE_SECONDS) };
      return showFirst({ appName: app.name, consent, form: secrets.form, headers }, standalone);
    },

    async decide(request) {
      const parameters = await readForm(request, LISTS);
      const id = parameters.get('consent');
      const form = parameters.get('form');
      const browser = id === null ? null : readCookie(request, cookieName(id));
      const consent = await findConsent(database, key, { id, browser, form }, clock.now());
      const app = consent === null ? null : await findApp(database, consent.request.appId);
      const act = actions.get(parameters.get('action') ?? '');
      if (app !== null) recognized(app.id);
      if (consent === null || form === null || app === null || act === undefined) return refuseForm();
      passed('page');
      const standalone = await readStandalone(portal.find(app));
      return act({ app, consent, parameters, standalone, view: { appName: app.name, consent, form } });
    },
  };
}
