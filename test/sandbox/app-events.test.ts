import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { proves } from '../support/proves.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import { isSignedWith } from '../support/signed-request.ts';
import { useHookedSandbox } from './hooked-sandbox.ts';
import { obtainTokens, REDIRECT_URI, type RegisteredApp } from './oauth-client.ts';

const hook = useHookedSandbox();
const PHONE = '491700000010';

let receiver: Receiver;
beforeEach(async () => {
  receiver = await startReceiver();
  await hook.call('PUT', '/hosts/app.example.com', { target: receiver.origin });
  await hook.call('PUT', '/timing', { sendScale: 0 });
});
afterEach(() => receiver.close());

async function register(more: object = {}): Promise<RegisteredApp> {
  const { body } = await hook.call('POST', '/oauth-apps', {
    name: 'CRM',
    redirectUris: [REDIRECT_URI],
    scopes: ['messaging.read', 'messaging.events'],
    webhookUrl: 'https://app.example.com/hook',
    ownerWorkspaceId: hook.sandbox.seed.workspaceId,
    ...more,
  });
  return body;
}

const consent = (app: RegisteredApp) => obtainTokens(hook.service.origin, app);
const settle = () => hook.service.platform.settle();
/** The events that the app was told of, in the order of their arrival. */
const told = (): unknown[] => receiver.requests.map(({ body }) => JSON.parse(body.toString()).event);

describe('the webhook of an OAuth app', () => {
  it(
    'receives the events of the connections that it was granted, signed with its own secret',
    proves('events.oauth.url', 'events.granted'),
    async () => {
      const app = await register();
      await hook.write();
      await settle();
      expect(receiver.requests).toEqual([]);

      await consent(app);
      await hook.write();
      await settle();
      expect(told()).toEqual(['message.received']);
      const [request] = receiver.requests;
      expect(isSignedWith(String(app.webhookSecret), request)).toBe(true);
      expect(isSignedWith(hook.secret, request)).toBe(false);
      expect(request?.path).toBe('/hook');
      // The workspace has a webhook of its own, and is told as before.
      expect(hook.receiver.requests).toHaveLength(2);
      expect(hook.receiver.requests[1]?.body).toEqual(request?.body);
    },
  );

  it('receives nothing without the scope, for another connection, after a revocation, or while it is disabled', async () => {
    const app = await register();
    const silent = await register({ scopes: ['messaging.read'] });
    await consent(silent);
    await hook.write();
    await settle();
    expect(receiver.requests).toEqual([]);

    await consent(app);
    const workspaceId = hook.sandbox.seed.workspaceId;
    const { body: late } = await hook.call('POST', `/workspaces/${workspaceId}/connections`, {
      provider: 'qr',
      phoneNumber: '447700900199',
    });
    await hook.call('POST', `/contacts/${PHONE}/messages`, {
      connectionId: late.connection.id,
      text: 'hello',
    });
    await settle();
    expect(receiver.requests).toEqual([]);

    const { apps } = hook.service.platform.oauth;
    await apps.setEnabled(app.clientId, false);
    await hook.write();
    await settle();
    expect(receiver.requests).toEqual([]);
    await apps.setEnabled(app.clientId, true);
    await hook.write();
    await settle();
    expect(receiver.requests).toHaveLength(1);

    const { body: grants } = await hook.call('GET', '/grants?limit=1');
    await hook.call('DELETE', `/grants/${grants.entries[0].id}`);
    await hook.write();
    await settle();
    expect(receiver.requests).toHaveLength(1);
  });

  it('receives an event once, however many grants cover it, and keeps its own record of it', async () => {
    const app = await register();
    await consent(app);
    await consent(app);
    receiver.script({ status: 500 });
    await hook.write();
    await hook.clock.pass(500);
    await settle();
    expect(receiver.requests).toHaveLength(2);
    const { body } = await hook.call('GET', '/deliveries?limit=2');
    const byUrl = new Map(body.entries.map((entry: { url: string }) => [entry.url, entry]));
    expect(byUrl.get('https://app.example.com/hook')).toMatchObject({
      outcome: 'delivered',
      attempts: [{ status: 500 }, { status: 200 }],
      subscription: { kind: 'app', id: app.clientId },
    });
    expect(byUrl.get('https://crm.example.com/')).toMatchObject({
      subscription: { kind: 'workspace', id: hook.sandbox.seed.workspaceId },
    });
    const own = byUrl.get('https://app.example.com/hook') as { id: string };
    await hook.call('POST', `/deliveries/${own.id}/resend`, { resign: true });
    expect(isSignedWith(String(app.webhookSecret), receiver.requests[2])).toBe(true);
    expect(hook.receiver.requests).toHaveLength(1);
  });

  it(
    'of an app from before the cut-over receives only incoming messages until the workspace consents again',
    proves('events.oauth.legacy'),
    async () => {
      const app = await register({ legacySubscription: true });
      await consent(app);
      const send = async () => {
        await hook.api('POST', '/messages', { connectionId: hook.connectionId, to: PHONE, text: 'hello' });
        await hook.call('POST', '/clock/advance', { ms: 10_000 });
        await settle();
      };
      await hook.write();
      await send();
      expect(told()).toEqual(['message.received']);
      await consent(app);
      await send();
      expect(told().filter((event) => event === 'message.status').length).toBeGreaterThan(0);
    },
  );
});
