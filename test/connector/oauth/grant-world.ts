import { afterEach, beforeEach, expect } from 'vitest';
import type { ConnectorOptions } from '../../../src/connector/connector.ts';
import {
  type ConnectorAccount,
  connectorAccountList,
  type StartedGrant,
  startedGrant,
} from '../../../src/contract/connector/accounts.ts';
import { syncStatus } from '../../../src/contract/connector/sync.ts';
import { Browser, type Visit } from '../../support/browser.ts';
import { ofFile } from '../../support/of-file.ts';
import { type Answer, ConnectorWorld, type RunningConnector } from '../support/running-connector.ts';
import { ScriptedAuthServer } from '../support/scripted-auth-server.ts';

export const MINUTE = 60_000;
/** Signing secret of the app's webhook. */
export const APP_SECRET = 'app-webhook-secret-1';

/** A connector that is an OAuth app, with a scripted authorization server and a scripted service. */
export interface GrantWorld {
  readonly world: ConnectorWorld;
  readonly auth: ScriptedAuthServer;
  /** Serves and works. */
  readonly running: RunningConnector;
  /** A process on the same database that serves alone. */
  readonly other: RunningConnector;
  readonly ask: RunningConnector['ask'];
  listed(): Promise<ConnectorAccount[]>;
  accountOf(id: string): Promise<ConnectorAccount | undefined>;
  /** The customer's browser. Another one is made by `openBrowser`. */
  readonly browser: Browser;
  /** A browser to which the connector's public address leads, to one of its processes. */
  openBrowser(to?: () => RunningConnector): Browser;
  /** What the CRM is told: the start address. */
  start(body?: object): Promise<StartedGrant>;
  /** Starts a consent, and goes on from its start page: `authorizationUrl` is the service's own. */
  begin(body?: object): Promise<StartedGrant & { readonly startUrl: string }>;
  /** A browser comes back, to any process. */
  comeBack(query: string, browser?: Browser): Promise<Visit>;
  /** A whole consent; answers the account that was made, or that has a new grant. */
  connect(body?: object): Promise<string>;
  sync(accountId: string): Promise<Answer>;
  /** One poll, and the code with which it failed; null: it went through. */
  poll(accountId: string): Promise<string | null>;
}

interface Parts extends Pick<GrantWorld, 'world' | 'auth' | 'running' | 'other'> {}

/** Public address of the connector, as `ScriptedAuthServer` registers it. */
export const PUBLIC_URL = 'http://127.0.0.1:4020';

/** Opens one for the tests of a file, and empties it after each. */
export function useGrants(options: Pick<Partial<ConnectorOptions>, 'logger'> = {}): GrantWorld {
  const parts = ofFile(
    () => openParts(options),
    async ({ world, auth }) => {
      await world.close();
      await auth.close();
    },
  );
  let browser: Browser;
  beforeEach(() => {
    browser = grants.openBrowser();
    const { service } = parts.world;
    service.connections = [];
    service.messages = [];
  });
  afterEach(async () => {
    const { auth, world, running } = parts;
    auth.fault = () => undefined;
    world.service.fault = () => undefined;
    for (const { id, kind } of await grants.listed()) {
      if (kind === 'oauth') await grants.ask('DELETE', `/v1/accounts/${id}`);
    }
    await running.connector.settle();
    await running.runPolls();
    // After a jump of the clock, a process that starts would consider those that run as gone, until they are heard again.
    await world.clock.advance(1_000);
  });

  const grants: GrantWorld = {
    get world() {
      return parts.world;
    },
    get auth() {
      return parts.auth;
    },
    get running() {
      return parts.running;
    },
    get other() {
      return parts.other;
    },
    ask: (...call) => parts.running.ask(...call),
    async listed() {
      const answer = await grants.ask('GET', '/v1/accounts');
      expect(answer).toMatchObject({ status: 200 });
      return connectorAccountList.parse(answer.body).accounts;
    },
    accountOf: async (id) => (await grants.listed()).find((account) => account.id === id),
    get browser() {
      return browser;
    },
    openBrowser: (to = () => parts.other) => new Browser({ [PUBLIC_URL]: () => to().url }),
    async start(body) {
      const answer = await grants.ask('POST', '/v1/accounts/oauth', body === undefined ? {} : { body });
      expect(answer.status).toBe(201);
      return startedGrant.strict().parse(answer.body);
    },
    async begin(body) {
      const started = await grants.start(body);
      const startUrl = started.authorizationUrl;
      return { ...started, startUrl, authorizationUrl: await browser.goOn(startUrl) };
    },
    comeBack: (query, by = browser) => by.visit(`${PUBLIC_URL}/oauth/callback?${query}`),
    async connect(body) {
      const known = new Set((await grants.listed()).map(({ id }) => id));
      const { authorizationUrl } = await grants.begin(body);
      expect((await grants.comeBack(grants.auth.approve(authorizationUrl))).status).toBe(200);
      await parts.running.runPolls();
      const added = (await grants.listed()).find(({ id, kind }) => kind === 'oauth' && !known.has(id));
      return added?.id ?? String((body as { accountId?: string } | undefined)?.accountId);
    },
    sync: (accountId) => grants.ask('POST', '/v1/sync', { body: { accountId } }),
    async poll(accountId) {
      await parts.running.poll(accountId);
      const { body } = await grants.ask('GET', `/v1/sync?accountId=${accountId}`);
      const [account] = syncStatus.parse(body).accounts;
      return account?.lastPoll?.error ?? null;
    },
  };
  return grants;
}

async function openParts(options: Partial<ConnectorOptions>): Promise<Parts> {
  const world = await ConnectorWorld.open();
  const auth = await ScriptedAuthServer.start();
  auth.onAccess = (token, good) => {
    if (good) world.service.apiKeys.add(token);
    else world.service.apiKeys.delete(token);
  };
  const oauth = auth.app(world.service.baseUrl);
  const running = await world.start({ oauth, ...options });
  const other = await world.start({ oauth, role: 'web', ...options });
  await running.runPolls();
  return { world, auth, running, other };
}
