import type { LookupAddress } from 'node:dns';
import { describe, expect, it } from 'vitest';
import { createWebhookConfiguration } from '../../../src/platform/webhooks/configuration.ts';
import { ofTest } from '../../support/of-file.ts';
import { proves } from '../../support/proves.ts';
import { createWebhookFixture, HOOK, HOST, shareDatabase, WORKSPACE } from './fixture.ts';

const EVENTS = ['message.received', 'message.status', 'connection.disconnected', 'connection.connected'];

shareDatabase();

describe('the webhook configuration', () => {
  const fixture = ofTest(createWebhookFixture);

  const resolving = (...addresses: string[]) => {
    const found: LookupAddress[] = addresses.map((address) => ({
      address,
      family: address.includes(':') ? 6 : 4,
    }));
    return createWebhookConfiguration({
      database: fixture.database,
      clock: fixture.clock,
      hosts: { target: (host) => fixture.tunnels.get(host) },
      lookup: async () => found,
    });
  };

  it('has no URL before one is set', () => {
    expect(fixture.configuration.get(WORKSPACE)).toEqual({ url: null, events: EVENTS, secretSet: false });
    expect(fixture.configuration.destination(WORKSPACE)).toBeNull();
  });

  it('shows the secret when it is issued and never again', async () => {
    const put = await fixture.configuration.put(WORKSPACE, HOOK);
    expect(put).toEqual({ url: HOOK, events: EVENTS, secret: expect.stringMatching(/^\S{32,}$/) });
    expect(fixture.configuration.get(WORKSPACE)).toEqual({ url: HOOK, events: EVENTS, secretSet: true });
  });

  it('issues a new secret with every PUT, also for the same URL', async () => {
    proves('choice.webhook.same-url');
    const secrets = new Set<string>();
    for (let round = 0; round < 5; round += 1) {
      secrets.add((await fixture.configuration.put(WORKSPACE, HOOK)).secret);
    }
    expect(secrets.size).toBe(5);
  });

  it('replaces the secret at once when it is rotated, and keeps the URL', async () => {
    proves('webhook.rotate.at-once');
    const { secret } = await fixture.configuration.put(WORKSPACE, HOOK);
    const rotated = await fixture.configuration.rotate(WORKSPACE);
    expect(rotated.secret).not.toBe(secret);
    expect(fixture.configuration.destination(WORKSPACE)).toEqual({ url: HOOK, secret: rotated.secret });
  });

  it('has nothing to rotate before a URL is set', async () => {
    await expect(fixture.configuration.rotate(WORKSPACE)).rejects.toMatchObject({ code: 'invalid_webhook' });
  });

  it('is separate for each workspace', async () => {
    await fixture.configuration.put(WORKSPACE, HOOK);
    expect(fixture.configuration.get('cworkspace000000000000002').secretSet).toBe(false);
  });

  it('survives a restart', async () => {
    const { secret } = await fixture.configuration.put(WORKSPACE, HOOK);
    const restarted = resolving();
    await restarted.load();
    expect(restarted.destination(WORKSPACE)).toEqual({ url: HOOK, secret });
  });

  it('has the same secret in memory and in the table after concurrent changes', async () => {
    await fixture.configuration.put(WORKSPACE, HOOK);
    await Promise.all(Array.from({ length: 20 }, () => fixture.configuration.rotate(WORKSPACE)));
    const restarted = resolving();
    await restarted.load();
    expect(restarted.destination(WORKSPACE)).toEqual(fixture.configuration.destination(WORKSPACE));
  });

  it('takes secrets from its port, and random ones if the port has none', async () => {
    const asked: string[] = [];
    const configuration = createWebhookConfiguration({
      database: fixture.database,
      clock: fixture.clock,
      hosts: { target: () => undefined },
      lookup: () => Promise.reject(new Error('unknown')),
      secrets: {
        next: (workspaceId, reason) => {
          asked.push(`${workspaceId} ${reason}`);
          return reason === 'put' ? 'a given secret' : undefined;
        },
      },
    });
    expect((await configuration.put(WORKSPACE, HOOK)).secret).toBe('a given secret');
    expect((await configuration.rotate(WORKSPACE)).secret).not.toBe('a given secret');
    expect(asked).toEqual([`${WORKSPACE} put`, `${WORKSPACE} rotate`]);
  });

  it('tells which secrets are in use: each that is issued, and at the start those of before', async () => {
    const { secret } = await fixture.configuration.put(WORKSPACE, HOOK);
    const told: string[] = [];
    const configuration = createWebhookConfiguration({
      database: fixture.database,
      clock: fixture.clock,
      hosts: { target: () => undefined },
      secrets: { next: () => undefined, inUse: (_, used) => told.push(used) },
    });
    await configuration.load();
    expect(told).toEqual([secret]);
    const { secret: next } = await configuration.rotate(WORKSPACE);
    expect(told).toEqual([secret, next]);
  });

  it('changes even if the change before it has failed', async () => {
    let fails = true;
    const configuration = createWebhookConfiguration({
      database: fixture.database,
      clock: fixture.clock,
      hosts: { target: () => undefined },
      lookup: async () => [],
      secrets: {
        next() {
          if (!fails) return undefined;
          fails = false;
          throw new Error('there is no secret yet');
        },
      },
    });
    const puts = [configuration.put(WORKSPACE, HOOK), configuration.put(WORKSPACE, HOOK)];
    expect((await Promise.allSettled(puts)).map(({ status }) => status)).toEqual(['rejected', 'fulfilled']);
  });

  it.each(['http://hooks.example.com/', 'https://localhost/', 'https://10.0.0.1/', 'not an address'])(
    'refuses %s and keeps the current URL',
    async (url) => {
      await fixture.configuration.put(WORKSPACE, HOOK);
      await expect(fixture.configuration.put(WORKSPACE, url)).rejects.toMatchObject({
        code: 'invalid_webhook',
      });
      expect(fixture.configuration.get(WORKSPACE).url).toBe(HOOK);
    },
  );

  it('accepts a name that does not resolve', async () => {
    proves('choice.webhook.unresolved');
    expect((await fixture.configuration.put(WORKSPACE, HOOK)).url).toBe(HOOK);
  });

  it('accepts a name whose resolver never answers, after three seconds', async () => {
    const configuration = createWebhookConfiguration({
      database: fixture.database,
      clock: fixture.clock,
      hosts: { target: () => undefined },
      lookup: () => new Promise(() => undefined),
    });
    const put = configuration.put(WORKSPACE, HOOK);
    await fixture.clock.timerSet(3_000);
    await fixture.clock.advance(3_000);
    expect((await put).url).toBe(HOOK);
  });

  it('accepts a name that resolves to public addresses', async () => {
    expect((await resolving('93.184.216.34', '2606:4700::1111').put(WORKSPACE, HOOK)).url).toBe(HOOK);
  });

  it.each([
    ['a private address', ['10.1.2.3']],
    ['loopback', ['127.0.0.1']],
    ['loopback of IPv6', ['::1']],
    ['a mapped private address', ['::ffff:192.168.0.1']],
    ['one private address among public ones', ['93.184.216.34', '169.254.169.254']],
  ])('refuses a name that resolves to %s', async (_what, addresses) => {
    proves('choice.webhook.unresolved');
    await expect(resolving(...addresses).put(WORKSPACE, HOOK)).rejects.toMatchObject({
      code: 'invalid_webhook',
    });
  });

  it('does not resolve a name that has a tunnel', async () => {
    fixture.tunnels.set(HOST, 'http://127.0.0.1:4020');
    expect((await resolving('127.0.0.1').put(WORKSPACE, HOOK)).url).toBe(HOOK);
  });

  it('requires https on a public host also for a name that has a tunnel', async () => {
    fixture.tunnels.set('localhost', 'http://127.0.0.1:4020');
    await expect(fixture.configuration.put(WORKSPACE, 'https://localhost/')).rejects.toMatchObject({
      code: 'invalid_webhook',
    });
    fixture.tunnels.set(HOST, 'http://127.0.0.1:4020');
    await expect(fixture.configuration.put(WORKSPACE, `http://${HOST}/`)).rejects.toMatchObject({
      code: 'invalid_webhook',
    });
  });
});
