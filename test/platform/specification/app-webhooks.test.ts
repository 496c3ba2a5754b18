import { createHmac } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { proves } from '../../support/proves.ts';
import { type ReceivedRequest, type Receiver, startReceiver } from '../../support/receiver.ts';
import { type App, createOauthVisitor, type OauthVisitor } from './oauth-visitor.ts';
import {
  addTenant,
  type Json,
  nextNumber,
  outcomeOf,
  startWireService,
  type Tenant,
  type WireService,
} from './wire-service.ts';

/*
 * The subscription of an OAuth app: its own address and secret, and the events of what it was granted.
 */

const CONTACT = '447700900201';
const FOUR = ['connection.connected', 'connection.disconnected', 'message.received', 'message.status'];

describe('the webhook of an OAuth app', () => {
  let service: WireService;
  let visitor: OauthVisitor;
  let receiver: Receiver;

  beforeAll(async () => {
    [service, receiver] = await Promise.all([startWireService(), startReceiver()]);
    visitor = await createOauthVisitor(service);
    await service.control('PUT', '/hosts/app.example.com', { target: receiver.origin });
  });
  afterAll(async () => {
    await service.close();
    await receiver.close();
  });

  interface Subscriber extends App {
    readonly path: string;
  }
  let subscribers = 0;
  /** An app whose webhook is a path of its own. */
  async function addSubscriber(more: object = {}): Promise<Subscriber> {
    subscribers += 1;
    const path = `/hooks/${subscribers}`;
    return { ...(await visitor.register({ webhookUrl: `https://app.example.com${path}`, ...more })), path };
  }

  const ask = async (token: string, method: string, path: string, body?: unknown): Promise<string> =>
    outcomeOf(await service.api(token, method, path, body));
  const tokenOf = async (app: App, changes = {}): Promise<string> =>
    (await visitor.obtainTokens(app, changes)).access_token;
  const readHook = async (token: string): Promise<Json> => (await service.api(token, 'GET', '/webhook')).body;
  const write = (connectionId: string) =>
    service.control('POST', `/contacts/${CONTACT}/messages`, { connectionId, text: 'in' });
  const send = (token: string, connectionId: string) =>
    ask(token, 'POST', '/messages', { connectionId, to: CONTACT, text: 'out' });

  /** What came in at a path so far. */
  async function receivedAt(path: string): Promise<readonly ReceivedRequest[]> {
    await service.settle();
    return receiver.requests.filter((received) => received.path === path);
  }
  async function toldTo({ path }: Subscriber): Promise<Json[]> {
    return (await receivedAt(path)).map(({ body }) => JSON.parse(body.toString()));
  }
  const eventsTo = async (app: Subscriber): Promise<string[]> =>
    [...new Set((await toldTo(app)).map(({ event }) => event as string))].sort();

  /** Computed here over the raw bytes, as a receiver does. */
  function isSigned({ headers, body }: ReceivedRequest, secret: string): boolean {
    const [timestamp] = headers['x-service-timestamp'] ?? [];
    const [signature] = headers['x-service-signature'] ?? [];
    const digest = createHmac('sha256', secret).update(`${timestamp}.`).update(body).digest('hex');
    return signature === `sha256=${digest}`;
  }

  test(
    'is the one that its tokens read and set, not that of the workspace',
    proves('choice.oauth.webhook', 'events.oauth.url'),
    async () => {
      const tenant = await addTenant(service);
      const { workspaceId, key } = tenant;
      const app = await visitor.register({ ownerWorkspaceId: workspaceId });
      const token = await tokenOf(app);
      const bare = await readHook(token);
      expect({ ...bare, events: [...bare.events].sort() }).toEqual({
        url: null,
        events: FOUR,
        secretSet: false,
      });
      expect(await ask(token, 'POST', '/webhook/rotate')).toBe('400 invalid_webhook');
      const url = 'https://app.example.com/set';
      const put = await service.api(token, 'PUT', '/webhook', { url });
      expect([put.status, Object.keys(put.body).sort()]).toEqual([200, ['events', 'secret', 'url']]);
      expect(await readHook(key)).toMatchObject({ url: null, secretSet: false });
      await service.api(key, 'PUT', '/webhook', { url: 'https://app.example.com/own' });
      const other = await visitor.register({ ownerWorkspaceId: workspaceId });
      expect(await readHook(token)).toEqual({ url, events: put.body.events, secretSet: true });
      expect(await readHook(await tokenOf(other))).toMatchObject({ url: null, secretSet: false });
      for (const refused of [
        'http://app.example.com/',
        'https://localhost/',
        'https://10.0.0.1/',
        'nonsense',
      ]) {
        expect(await ask(token, 'PUT', '/webhook', { url: refused }), refused).toBe('400 invalid_webhook');
      }
      expect((await readHook(token)).url).toBe(url);
      const registered = await addSubscriber({ ownerWorkspaceId: workspaceId });
      expect(await readHook(await tokenOf(registered))).toMatchObject({
        url: `https://app.example.com${registered.path}`,
        secretSet: true,
      });
      await write(tenant.first);
      expect(await receivedAt('/set')).toHaveLength(1);
      expect(await receivedAt('/own')).toHaveLength(1);
    },
  );

  test('is signed with the secret of the app, and a rotation ends the old one at once', async () => {
    const tenant = await addTenant(service);
    const app = await addSubscriber({ ownerWorkspaceId: tenant.workspaceId });
    const token = await tokenOf(app);
    const secrets = [String(app.webhookSecret)];
    const signedBy: (readonly boolean[])[] = [];
    for (const change of [['POST', '/webhook/rotate'], ['PUT', '/webhook'], null] as const) {
      await write(tenant.first);
      const last = (await receivedAt(app.path)).at(-1);
      if (last === undefined) throw new Error('Nothing came.');
      signedBy.push(secrets.map((secret) => isSigned(last, secret)));
      if (change === null) break;
      const url = `https://app.example.com${app.path}`;
      const { body } = await service.api(
        token,
        change[0],
        change[1],
        change[0] === 'PUT' ? { url } : undefined,
      );
      secrets.push(body.secret);
    }
    expect(new Set(secrets).size).toBe(3);
    expect(signedBy).toEqual([[true], [false, true], [false, false, true]]);
  });

  test(
    'receives events of granted connections, in every workspace that consented, once each',
    proves('events.granted'),
    async () => {
      const [one, two, three] = [
        await addTenant(service, 2),
        await addTenant(service),
        await addTenant(service),
      ];
      const [granted = '', kept = ''] = one.connectionIds;
      const app = await addSubscriber();
      const tokens = [
        await visitor.obtainByPage(app, one.workspaceId, { connection: granted }),
        await visitor.obtainByPage(app, two.workspaceId),
        await visitor.obtainByPage(app, two.workspaceId),
      ];
      for (const { access_token: token } of tokens) {
        expect((await readHook(token)).url).toBe(`https://app.example.com${app.path}`);
      }
      for (const id of [granted, kept, two.first, three.first]) await write(id);
      const told = await toldTo(app);
      expect(told.map(({ event, connection_id: id }) => `${event} ${id}`).sort()).toEqual(
        [`message.received ${granted}`, `message.received ${two.first}`].sort(),
      );
    },
  );

  test('receives nothing without messaging.events, and nothing after the grant has ended', async () => {
    const tenant = await addTenant(service);
    const app = await addSubscriber({ ownerWorkspaceId: tenant.workspaceId });
    await write(tenant.first);
    await tokenOf(app, { scope: 'messaging.read messaging.send messaging.manage' });
    await write(tenant.first);
    expect(await toldTo(app)).toEqual([]);
    const pair = await visitor.obtainTokens(app);
    await write(tenant.first);
    expect(await toldTo(app)).toHaveLength(1);
    await visitor.revoke(app, pair.refresh_token);
    await write(tenant.first);
    expect(await toldTo(app)).toHaveLength(1);
  });

  test(
    'receives all four types of a qr connection, and none of a cloud_api connection',
    proves('events.four', 'events.qr-only'),
    async () => {
      const paired = await addTenant(service);
      const official = await addTenant(service, 1, { provider: 'cloud_api' });
      const told: string[][] = [];
      for (const tenant of [paired, official]) {
        const app = await addSubscriber({ ownerWorkspaceId: tenant.workspaceId });
        const token = await tokenOf(app);
        await write(tenant.first);
        expect(await send(token, tenant.first)).toBe('200');
        await service.advance(60_000);
        if (tenant === paired) {
          await service.control('POST', `/connections/${tenant.first}/outage`, { cause: 'session_lost' });
          await service.advance(300_000);
          await service.control('POST', `/connections/${tenant.first}/recover`);
        }
        told.push(await eventsTo(app));
      }
      expect(told).toEqual([FOUR, []]);
    },
  );

  test('receives events of a connection that the app created', async () => {
    const tenant = await addTenant(service);
    const app = await addSubscriber({ ownerWorkspaceId: tenant.workspaceId });
    const token = await tokenOf(app);
    const { id, qr } = (await service.api(token, 'POST', '/connections')).body.connection;
    await service.control('POST', `/connections/${id}/scan`, { qr, phoneNumber: nextNumber() });
    await write(id);
    expect(await toldTo(app)).toMatchObject([{ event: 'message.received', connection_id: id }]);
  });

  test('receives nothing while the license is expired, and events again after the renewal', async () => {
    const tenant = await addTenant(service);
    const app = await addSubscriber({ ownerWorkspaceId: tenant.workspaceId });
    await tokenOf(app);
    const license = (status: string, ms: number) =>
      service.now().then((now) =>
        service.control('PUT', `/connections/${tenant.first}/licence`, {
          status,
          expiresAt: new Date(now + ms).toISOString(),
        }),
      );
    await license('expired', 0);
    await write(tenant.first);
    expect(await toldTo(app)).toEqual([]);
    await license('active', 86_400_000);
    await write(tenant.first);
    expect(await toldTo(app)).toHaveLength(1);
  });

  test(
    'from before the cut-over receives only message.received until the workspace consents again',
    proves('events.oauth.legacy', 'choice.oauth.legacy-events'),
    async () => {
      const [one, two] = [await addTenant(service), await addTenant(service)];
      const app = await addSubscriber({ legacySubscription: true });
      const consent = async ({ workspaceId }: Tenant): Promise<string> =>
        (await visitor.obtainByPage(app, workspaceId)).access_token;
      const exchange = async (tenant: Tenant): Promise<string[]> => {
        await write(tenant.first);
        expect(await send(tenant.key, tenant.first)).toBe('200');
        await service.advance(60_000);
        const told = (await toldTo(app)).filter(({ connection_id: id }) => id === tenant.first);
        return [...new Set(told.map(({ event }) => event as string))].sort();
      };
      for (const tenant of [one, two]) {
        const token = await consent(tenant);
        expect((await readHook(token)).events).toEqual(['message.received']);
        expect(await exchange(tenant)).toEqual(['message.received']);
      }
      const again = await consent(one);
      expect([...(await readHook(again)).events].sort()).toEqual(FOUR);
      expect(await exchange(one)).toEqual(['message.received', 'message.status']);
      expect(await exchange(two)).toEqual(['message.received']);
    },
  );
});
