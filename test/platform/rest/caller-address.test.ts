import { beforeAll, describe, expect, it } from 'vitest';
import { askAs } from '../../support/ask-as.ts';
import { ofFile } from '../../support/of-file.ts';
import { seedWorkspace, startTestPlatform } from '../../support/platform.ts';
import { proves } from '../../support/proves.ts';

/** Every connection of this test comes from 127.0.0.1, which stands for a proxy here. */
describe('the address of a caller behind trusted proxies', () => {
  const service = ofFile(() =>
    startTestPlatform({ trustedProxies: ['127.0.0.1', '10.0.0.0/8', 'fd00::/8'] }),
  );
  let key: string;
  let unlimited: string;
  beforeAll(async () => {
    const { workspaceId } = await seedWorkspace(service);
    const ipAllowlist = ['203.0.113.7', '2001:db8::/32'];
    ({ key } = await service.platform.apiKeys.create(workspaceId, { ipAllowlist }));
    ({ key: unlimited } = await service.platform.apiKeys.create(workspaceId));
  });

  const ask = async (headers: Record<string, string>, as = key): Promise<number> =>
    (await service.call('GET', '/connections', { key: as, headers })).status;

  it.each([
    ['the one that the proxy named', '203.0.113.7'],
    ['the one before further trusted proxies', '203.0.113.7, 10.1.2.3, fd00::1'],
    ['the rightmost untrusted one, whatever stands left of it', 'spoofed, 198.51.100.9, 203.0.113.7'],
    ['an IPv6 one', '2001:db8::42, 10.0.0.1'],
    ['an IPv4 one in its IPv6 form', '::ffff:203.0.113.7'],
    ['the one beside empty parts, which a list may have', '203.0.113.7, '],
    ['one with much space around it', '  203.0.113.7  ,   10.0.0.1  '],
  ])('is %s', async (_what, forwarded) => {
    proves('auth.key.allowlist', 'choice.forwarded-for');
    expect(await ask({ 'x-forwarded-for': forwarded })).toBe(200);
  });

  it.each([
    ['an allowed address that the caller wrote itself', '203.0.113.7, 198.51.100.9'],
    ['an allowed address left of an untrusted hop', '203.0.113.7, 198.51.100.9, 10.0.0.1'],
    ['an allowed address with a port', '203.0.113.7:443'],
    ['an allowed address in brackets', '[2001:db8::1]'],
    ['a short form of an allowed address', '203.0.28935'],
    ['an octal form of an allowed address', '0313.0.0161.07'],
    ['a word', 'unknown'],
    ['an empty header', ''],
    ['proxies alone', '10.0.0.1, fd00::2'],
  ])('is not taken from %s', async (_what, forwarded) => {
    proves('auth.key.off-list', 'auth.key.unknown-address');
    expect(await ask({ 'x-forwarded-for': forwarded })).toBe(403);
  });

  it('is not taken from any other header', async () => {
    proves('choice.forwarded-for');
    for (const name of ['forwarded', 'x-real-ip', 'x-client-ip', 'true-client-ip', 'cf-connecting-ip']) {
      const value = name === 'forwarded' ? 'for=203.0.113.7' : '203.0.113.7';
      expect([name, await ask({ [name]: value })]).toEqual([name, 403]);
    }
  });

  it('permits any host', async () => {
    const path = '/.well-known/oauth-authorization-server';
    expect((await askAs('auth.example.com', service.port, path)).status).toBe(200);
  });

  it('does not matter for a key without an allowlist', async () => {
    proves('auth.key.no-allowlist');
    expect(await ask({ 'x-forwarded-for': 'unknown' }, unlimited)).toBe(200);
    expect(await ask({}, unlimited)).toBe(200);
  });
});
