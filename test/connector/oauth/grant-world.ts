import { afterEach, beforeEach, expect } from 'vitest';
import type { ConnectorOptions } from '../../../src/connector/connector.ts';
import { connectorAccountList, startedGrant } from '../../../src/contract/connector/accounts.ts';
import { syncStatus } from '../../../src/contract/connector/sync.ts';
import { Browser } from '../../support/browser.ts';
import { ofFile } from '../../support/of-file.ts';
import { ConnectorWorld, type RunningConnector } from '../support/running-connector.ts';
import { ScriptedAuthServer } from '../support/scripted-auth-server.ts';

export const MINUTE = 60_000;
/** Signing secret of the app's webhook. */
export const APP_SECRET = 'app-webhook-secret-1';

/** Public address of the connector, as `ScriptedAuthServer` registers it. */
export const PUBLIC_URL = 'http://127.0.0.1:4020';

/**
 * Opens a connector that is an OAuth app, with a scripted authorization server and a scripted service, for the tests of
 * a file, and empties it after each.
 */
export function useGrants(options: Pick<Partial<ConnectorOptions>, 'logger'> = {}) {
  const parts = ofFile(
    () => openParts(options),
    async ({ world, auth }) => {
      await world.close();
      await auth.close();
    },
  );
  let browser: Browser;
  beforeEach(() => {
    browser = openBrowser();
    const { service } = parts.world;
    service.connections = [];
    service.messages = [];
  });
  afterEach(async () => {
    const { auth, world, running } = parts;
    auth.fault = () => undefined;
    world.service.fault = () => undefined;
    for (const { id, kind } of await listed()) {
      if (kind === 'oauth') await ask('DELETE', `/v1/accounts/${id}`);
    }
    await running.connector.settle();
    await running.runPolls();
    // After a jump of the clock, a process that starts would consider those that run as gone, until they are heard again.
    await world.clock.advance(1_000);
  });

  const ask: RunningConnector['ask'] = (...call) => parts.running.ask(...call);

  async function listed() {
    const answer = await ask('GET', '/v1/accounts');
    expect(answer).toMatchObject({ status: 200 });
    return connectorAccountList.parse(answer.body).accounts;
  }

  /** A browser to which the connector's public address leads, to one of its processes. */
  function openBrowser(to = () => parts.other): Browser {
    return new Browser({ [PUBLIC_URL]: () => to().url });
  }

  /** What the CRM is told: the start address. */
  async function start(body?: object) {
    const answer = await ask('POST', '/v1/accounts/oauth', body === undefined ? {} : { body });
    expect(answer.status).toBe(201);
    return startedGrant.strict().parse(answer.body);
  }

  /** Starts a consent, and goes on from its start page: `authorizationUrl` is the service's own. */
  async function begin(body?: object) {
    const started = await start(body);
    const startUrl = started.authorizationUrl;
    return { ...started, startUrl, authorizationUrl: await browser.goOn(startUrl) };
  }

  /** A browser comes back, to any process. */
  async function comeBack(query: string, by = browser) {
    return await by.visit(`${PUBLIC_URL}/oauth/callback?${query}`);
  }

  return {
    get world() {
      return parts.world;
    },
    get auth() {
      return parts.auth;
    },
    /** Serves and works. */
    get running() {
      return parts.running;
    },
    /** A process on the same database that serves alone. */
    get other() {
      return parts.other;
    },
    /** The customer's browser. Another one is made by `openBrowser`. */
    get browser() {
      return browser;
    },
    ...{ ask, listed, openBrowser, start, begin, comeBack },
    accountOf: async (id: string) => (await listed()).find((account) => account.id === id),
    /** A whole consent; answers the account that was made, or that has a new grant. */
    async connect(body?: object) {
      const known = new Set((await listed()).map(({ id }) => id));
      const { authorizationUrl } = await begin(body);
      expect((await comeBack(parts.auth.approve(authorizationUrl))).status).toBe(200);
      await parts.running.runPolls();
      const added = (await listed()).find(({ id, kind }) => kind === 'oauth' && !known.has(id));
      return added?.id ?? String((body as { accountId?: string } | undefined)?.accountId);
    },
    sync: (accountId: string) => ask('POST', '/v1/sync', { body: { accountId } }),
    /** One poll, and the code with which it failed; null: it went through. */
    async poll(accountId: string) {
      await parts.running.poll(accountId);
      const { body } = await ask('GET', `/v1/sync?accountId=${accountId}`);
      const [account] = syncStatus.parse(body).accounts;
      return account?.lastPoll?.error ?? null;
    },
  };
}

async function openParts(options: Partial<ConnectorOptions>) {
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
