import { describe, expect, it } from 'vitest';
import type { OauthApp } from '../../../src/connector/oauth/oauth-app.ts';
import { ConfigurationError } from '../../../src/runtime/config/configuration-error.ts';
import { ScriptedService } from '../support/scripted-service.ts';
import { useGrants } from './grant-world.ts';

const grants = useGrants();
const { connect, accountOf, poll } = grants;

const startWith = (change: Partial<OauthApp>) =>
  grants.world.start({ oauth: { ...grants.auth.app(grants.world.service.baseUrl), ...change } });
const problemsOf = async (change: Partial<OauthApp>) => {
  const error = await startWith(change).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(ConfigurationError);
  return (error as ConfigurationError).problems.map(({ setting, problem }) => `${setting} ${problem}`).join();
};

describe('a process with other settings of the OAuth app', () => {
  it('does not start with a client secret that is refused, and the grants of other processes are unchanged', async () => {
    const id = await connect();
    const before = grants.auth.refreshes();
    expect(await problemsOf({ clientSecret: 'mistyped' })).toMatch(
      /^SERVICE_CLIENT_SECRET is refused by 127\.0\.0\.1:\d+ \(invalid_client\)/,
    );
    // The one refresh was by a token that nobody ever had.
    expect(grants.auth.refreshes()).toBe(before + 1);
    const [grant] = await grants.world.database.query(
      'select failures, not_before as "notBefore" from connector.oauth_grants where account_id = $1',
      [id],
    );
    expect(grant).toEqual({ failures: 0, notBefore: null });
    expect(await poll(id)).toBeNull();
  });

  it('does not move the accounts to an address that is not a service', async () => {
    const id = await connect();
    const elsewhere = await ScriptedService.start();
    for (const answer of [
      { status: 404, body: { error: 'not_found' } },
      { status: 401, body: 'Log in to this router' },
    ]) {
      elsewhere.fault = () => answer;
      expect(await problemsOf({ baseUrl: elsewhere.baseUrl })).toMatch(
        /^SERVICE_BASE_URL is not the address of a service: GET .* was answered with 40[14]/,
      );
    }
    await elsewhere.close();
    expect(await accountOf(id)).toMatchObject({ baseUrl: grants.world.service.baseUrl, state: 'active' });
    expect(await poll(id)).toBeNull();
  });

  it('sends no token of a customer to an address that it checks', async () => {
    await connect();
    const seen = grants.world.service.requests.length;
    await (await startWith({ webhookSecret: undefined, baseUrl: `${grants.world.service.baseUrl}` })).stop();
    const tried = grants.world.service.requests.slice(seen).map(({ headers }) => headers.authorization);
    expect(tried.filter((authorization) => authorization?.includes('access-'))).toEqual([]);
  });

  it('does not start with an address without a discovery document', async () => {
    expect(await problemsOf({ authUrl: grants.world.service.baseUrl })).toMatch(
      /^SERVICE_AUTH_URL is not the address of an authorization server/,
    );
  });

  it('waits while the authorization server is unavailable, and becomes ready when it answers', async () => {
    const change = { clientSecret: 'client-secret-2' };
    grants.auth.fault = () => 'reset';
    const waiting = await startWith(change);
    expect((await waiting.ask('GET', '/readyz')).status).toBe(503);
    grants.auth.fault = () => undefined;
    const { clientSecret } = grants.auth;
    grants.auth.clientSecret = change.clientSecret;
    await grants.world.clock.advance(2_000);
    const look = async (): Promise<number> => {
      // However often it is asked, it is looked up once a second.
      await grants.world.clock.advance(1_000);
      return (await waiting.ask('GET', '/readyz')).status;
    };
    await expect.poll(look).toBe(200);
    grants.auth.clientSecret = clientSecret;
    await waiting.stop();
  });
});

describe('a process with the current settings', () => {
  it('starts even if neither the service nor the authorization server can be reached', async () => {
    await (await startWith({})).stop();
    grants.auth.fault = () => 'reset';
    grants.world.service.fault = () => 'reset';
    const next = await startWith({});
    expect((await next.ask('GET', '/readyz')).status).toBe(200);
    await next.stop();
  });
});
