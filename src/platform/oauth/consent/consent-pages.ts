import type { Request } from 'express';
import { SCOPES } from '../../../contract/service/scopes.ts';
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
import { codeAnswer, type Return, returnedRefusal } from '../oauth-answer.ts';
import { OauthError, PageRefusal } from '../oauth-error.ts';
import { type Parameters, readParameters } from '../parameters.ts';
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
import { type ConsentView, refusalPage } from './consent-view.ts';

interface Options {
  readonly database: Queryable;
  readonly changeState: ChangeState;
  readonly clock: DomainClock;
  readonly portal: PortalSessions;
  issuer(): string;
}

/** The consent pages. They work without JavaScript. [oauth.consent.standalone] */
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
  const why =
    'This request was answered, has expired, or was opened in another browser. Start again in the app.';
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
  const { database, changeState, clock, portal, issuer } = options;

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

  /** The page of a workspace; with `given`, of the selection that gave no consent. */
  const showWorkspace = async (
    { consent, standalone, view }: Pick<Opened, 'consent' | 'standalone' | 'view'>,
    { id }: OwnedWorkspace,
    given?: Ticks,
  ): Promise<Answer> => {
    const connections = await readGrantable(database, id, consent.request);
    return approveView(view, { id, hasChoice: hasChoice({ consent, standalone }) }, connections, given);
  };

  const showFirst = (opened: Pick<Opened, 'consent' | 'standalone' | 'view'>): Answer | Promise<Answer> => {
    const { view, standalone } = opened;
    const [only] = standalone;
    if (only !== undefined && !hasChoice(opened)) return showWorkspace(opened, only);
    return chooseView(view, standalone);
  };

  /** The open consent of an id and its cookie; null if there is none. */
  const find = async (request: Request, id: string | null): Promise<Opened | null> => {
    const browser = id === null ? null : (readCookies(request.headers.cookie).get(cookieName(id)) ?? null);
    const consent = await findConsent(database, { id, browser }, clock.now());
    const app = consent === null ? null : await findApp(database, consent.request.appId);
    if (app !== null) recognized(app.id);
    if (consent === null || app === null) return null;
    const session = portal.find(app);
    const view = { appName: app.name, signedIn: signedInAs(session), consent };
    return { app, consent, view, standalone: await readStandalone(session) };
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

  const allow = async (reply: Reply): Promise<Answer> => {
    const { parameters } = reply;
    const workspace = chosenWorkspace(reply, parameters);
    if (workspace === undefined) return refuseForm();
    const ticked = parameters.all('scope');
    const scopes = SCOPES.filter((scope) => ticked.includes(scope));
    const connectionIds = parameters.all('connection');
    try {
      return await grant(reply, { workspaceId: workspace.id, scopes, connectionIds });
    } catch (error) {
      if (!(error instanceof OauthError)) throw error;
      const page = await showWorkspace(reply, workspace, { connections: connectionIds, scopes });
      return { ...page, refused: error };
    }
  };

  const goOn = async (reply: Reply): Promise<Answer> => {
    const { consent, view, standalone } = reply;
    const { portalWorkspaceId: workspaceId, request } = consent;
    if (workspaceId === null) {
      const notice = 'The code has not been entered in the portal yet.';
      const refused = new OauthError('access_denied', 'no portal admin has entered the user code yet');
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

  const actions: ReadonlyMap<string, (reply: Reply) => Promise<Answer>> = new Map([
    ['allow', allow],
    ['portal', goOn],
    ['deny', deny],
  ]);

  return {
    async ask({ client: { app }, request, session }) {
      const owned = await readOwned(database, session);
      const standalone = owned.filter(({ kind }) => kind === 'standalone');
      const asksPortal = owned.length === 0 || standalone.length < owned.length;
      const { consent, browser } = await openConsent(changeState, request, asksPortal);
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
      if (opened === null || act === undefined) return refuseForm();
      passed('page');
      return act({ ...opened, parameters });
    },
  };
}
