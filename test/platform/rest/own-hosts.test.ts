import { afterEach, describe, expect, it } from 'vitest';
import { askAs } from '../../support/ask-as.ts';
import { startTestPlatform, type TestPlatform } from '../../support/platform.ts';
import { proves } from '../../support/proves.ts';

describe('the service on a loopback address', () => {
  let service: TestPlatform;
  afterEach(() => service.close());

  it('refuses a rebound name, at every address', proves('choice.host.foreign'), async () => {
    service = await startTestPlatform();
    for (const path of ['/api/v1/connections', '/oauth/authorize', '/api/mcp', '/media/x', '/nothing']) {
      for (const host of [
        'evil.example.com',
        '127.0.0.1.evil.example.com',
        'localhost@evil.example.com',
        'a b',
      ]) {
        const { status, text } = await askAs(host, service.port, path);
        expect([path, host, status]).toEqual([path, host, 400]);
        expect(JSON.parse(text)).toMatchObject({ error: 'invalid_request', field: 'Host' });
      }
    }
  });

  it('answers to every name of this machine', async () => {
    service = await startTestPlatform();
    for (const host of ['localhost', 'LOCALHOST', `127.0.0.1:${service.port}`, '127.8.8.8', '[::1]:80']) {
      expect((await askAs(host, service.port, '/.well-known/oauth-authorization-server')).status).toBe(200);
    }
  });

  it('accepts any host from a trusted proxy', async () => {
    service = await startTestPlatform({ trustedProxies: ['127.0.0.0/8'] });
    const { status } = await askAs(
      'auth.example.com',
      service.port,
      '/.well-known/oauth-authorization-server',
    );
    expect(status).toBe(200);
  });
});
