import { describe, expect, it } from 'vitest';
import { createWebhookConfiguration } from '../../../src/platform/webhooks/configuration.ts';
import { ofTest } from '../../support/of-file.ts';
import { proves } from '../../support/proves.ts';
import { createWebhookFixture, HOOK, HOST, shareDatabase, WORKSPACE } from './fixture.ts';

shareDatabase();

describe('the webhook configuration', () => {
  const fixture = ofTest(createWebhookFixture);

  type Options = Parameters<typeof createWebhookConfiguration>[0];
  /** Another configuration over the same database. */
  const configure = (options: Pick<Options, 'lookup' | 'secrets'> = {}) =>
    createWebhookConfiguration({
      database: fixture.database,
      clock: fixture.clock,
      hosts: { target: (host) => fixture.tunnels.get(host) },
      lookup: async () => [],
      ...options,
    });

  it('replaces the secret at once when it is rotated, and keeps the URL', async () => {
    proves('webhook.rotate.at-once');
    const { secret } = await fixture.configuration.put(WORKSPACE, HOOK);
    const rotated = await fixture.configuration.rotate(WORKSPACE);
    expect(rotated.secret).not.toBe(secret);
    expect(fixture.configuration.destination(WORKSPACE)).toEqual({ url: HOOK, secret: rotated.secret });
  });

  it('survives a restart', async () => {
    const { secret } = await fixture.configuration.put(WORKSPACE, HOOK);
    const restarted = configure();
    await restarted.load();
    expect(restarted.destination(WORKSPACE)).toEqual({ url: HOOK, secret });
  });

  it('has the same secret in memory and in the table after concurrent changes', async () => {
    await fixture.configuration.put(WORKSPACE, HOOK);
    await Promise.all(Array.from({ length: 20 }, () => fixture.configuration.rotate(WORKSPACE)));
    const restarted = configure();
    await restarted.load();
    expect(restarted.destination(WORKSPACE)).toEqual(fixture.configuration.destination(WORKSPACE));
  });

  it('takes secrets from its port, and random ones if the port has none', async () => {
    const asked: string[] = [];
    const configuration = configure({
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
    const configuration = configure({
      secrets: { next: () => undefined, inUse: (_, used) => told.push(used) },
    });
    await configuration.load();
    expect(told).toEqual([secret]);
    const { secret: next } = await configuration.rotate(WORKSPACE);
    expect(told).toEqual([secret, next]);
  });

  it('changes even if the change before it has failed', async () => {
    let fails = true;
    const configuration = configure({
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

  it('accepts a name whose resolver never answers, after three seconds', async () => {
    const configuration = configure({
      lookup: () => new Promise(() => undefined),
    });
    const put = configuration.put(WORKSPACE, HOOK);
    await fixture.clock.timerSet(3_000);
    await fixture.clock.advance(3_000);
    expect((await put).url).toBe(HOOK);
  });

  it('does not resolve a name that has a tunnel', async () => {
    fixture.tunnels.set(HOST, 'http://127.0.0.1:4020');
    const lookup = async () => [{ address: '127.0.0.1', family: 4 }];
    expect((await configure({ lookup }).put(WORKSPACE, HOOK)).url).toBe(HOOK);
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
