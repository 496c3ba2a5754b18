import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createSandboxApp } from '../../src/sandbox/app.ts';
import { type AskOptions, askAs } from '../support/ask-as.ts';
import { listen } from '../support/listen.ts';
import { silentLogger } from '../support/platform.ts';
import { proves } from '../support/proves.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import { startTestService, type TestService } from '../support/service.ts';

const NAME = 'messaging-service';
const CONTACT = '447700900201';

// biome-ignore lint/suspicious/noExplicitAny: answers are looked into by field
type Answer = { status: number; body: any };

describe('a service that listens on all addresses under a name', () => {
  let test: TestService;
  let receiver: Receiver;
  let platform: number;
  let sandbox: number;

  beforeAll(async () => {
    [test, receiver] = await Promise.all([
      startTestService({ host: '0.0.0.0', allowedHosts: [NAME, 'Other'] }),
      startReceiver(),
    ]);
    platform = Number(new URL(test.info.authUrl).port);
    sandbox = Number(new URL(test.info.sandboxUrl).port);
  });
  afterAll(async () => {
    await test.close();
    await receiver.close();
  });

  /** Asks a port by the name. */
  async function call(port: number, path: string, options: AskOptions = {}): Promise<Answer> {
    const { status, text } = await askAs(`${NAME}:${port}`, port, path, options);
    return { status, body: JSON.parse(text) };
  }

  it('issues addresses with the first name', async () => {
    expect((await call(sandbox, '/sandbox/v1/info')).body).toMatchObject({
      baseUrl: `http://messaging-service:${platform}/api/v1`,
      legacyBaseUrl: expect.stringMatching(/^http:\/\/messaging-service:\d+\/api\/v1$/),
      authUrl: `http://messaging-service:${platform}`,
      mcpUrl: `http://messaging-service:${platform}/api/mcp`,
      sandboxUrl: `http://messaging-service:${sandbox}`,
    });
    expect((await call(platform, '/.well-known/oauth-authorization-server')).body).toMatchObject({
      issuer: `http://messaging-service:${platform}`,
      token_endpoint: `http://messaging-service:${platform}/oauth/token`,
    });
    const { body } = await call(sandbox, '/sandbox/v1/service.openapi.json');
    expect(body.servers).toMatchObject([{ url: `http://messaging-service:${platform}/api/v1` }]);
  });

  it('pairs a number, sends and delivers under the name, with files at addresses that work there', async () => {
    const created = await call(sandbox, '/service/connections', { method: 'POST', body: { label: 'Desk' } });
    const { id, qr } = created.body.connection;
    const scanned = await call(sandbox, `/sandbox/v1/connections/${id}/scan`, {
      method: 'POST',
      body: { qr },
    });
    expect([created.status, scanned.status]).toEqual([201, 200]);

    const body = { target: receiver.origin };
    await call(sandbox, '/sandbox/v1/hosts/crm.example.com', { method: 'PUT', body });
    const url = 'https://crm.example.com/webhooks';
    await call(sandbox, '/service/webhook', { method: 'PUT', body: { url } });
    const key = test.info.apiKey;
    const sent = await call(platform, '/api/v1/messages', {
      method: 'POST',
      key,
      body: { connectionId: id, to: CONTACT, text: 'Good morning' },
    });
    expect(sent).toMatchObject({ status: 200, body: { messageId: expect.any(String) } });
    await test.service.settle();
    const count = receiver.requests.length;
    const media = {
      filename: 'a.txt',
      mimetype: 'text/plain',
      data: Buffer.from('A file').toString('base64'),
    };
    await call(sandbox, `/sandbox/v1/contacts/${CONTACT}/messages`, {
      method: 'POST',
      body: { connectionId: id, media },
    });
    await test.service.settle();

    const events = receiver.requests.slice(count).map(({ body: bytes }) => JSON.parse(bytes.toString()));
    const received = events.find(({ event }) => event === 'message.received');
    const address = new URL(received?.message.media_url);
    expect(address.origin).toBe(`http://messaging-service:${platform}`);
    expect(await askAs(address.host, platform, address.pathname)).toEqual({ status: 200, text: 'A file' });
  });

  it.each(['messaging-service', 'MESSAGING-SERVICE:1', 'other', 'localhost', '127.0.0.1', '[::1]'])(
    'answers to %s',
    async (host) => {
      const path = '/.well-known/oauth-authorization-server';
      expect((await askAs(host, platform, path)).status).toBe(200);
      expect((await askAs(host, sandbox, '/sandbox/v1/info')).status).toBe(200);
    },
  );

  it.each([
    'evil.example.com',
    'messaging-service.evil.example.com',
    'evil-messaging-service',
    '0.0.0.0',
    '169.254.169.254',
  ])('refuses %s, and names the setting', async (host) => {
    proves('choice.host.foreign');
    for (const path of ['/api/v1/connections', '/.well-known/oauth-authorization-server', '/api/mcp']) {
      const { status, text } = await askAs(host, platform, path);
      expect([path, status, JSON.parse(text)]).toEqual([
        path,
        400,
        {
          error: 'invalid_request',
          field: 'Host',
          hint: 'must be 127.0.0.1, localhost or [::1] unless PLATFORM_ALLOWED_HOSTS lists other names',
        },
      ]);
    }
    for (const path of ['/sandbox/v1/info', '/service/connections', '/', '/console.json']) {
      const { status, text } = await askAs(host, sandbox, path);
      expect([path, status, JSON.parse(text)]).toEqual([
        path,
        403,
        {
          error: 'foreign_origin',
          message: `\`Host: ${host}\` is not this machine. Use http://messaging-service:${sandbox}, or localhost with the same port. To allow another name, list it in PLATFORM_ALLOWED_HOSTS.`,
        },
      ]);
    }
  });
});

describe('/service of a sandbox that reaches the service at an address of its own', () => {
  it('uses the name that clients use, which the service accepts', async () => {
    const service = await startReceiver();
    const server = await listen(
      createSandboxApp({
        handlers: {},
        logger: silentLogger,
        serviceUrl: () => 'http://messaging-service:4010/api/v1',
        serviceTarget: () => `${service.origin}/api/v1`,
        serverUrl: () => 'http://127.0.0.1/sandbox/v1',
        serviceKey: () => 'key-of-the-workspace',
      }),
    );
    expect((await askAs('localhost', server.port, '/service/connections')).status).toBe(200);
    expect(service.requests).toMatchObject([
      { path: '/api/v1/connections', headers: { host: ['messaging-service:4010'] } },
    ]);
    await server.drain(0);
    await service.close();
  });
});

describe('/healthz of the sandbox', () => {
  it.each([
    [true, 200],
    [false, 503],
  ])('answers under any name, and says whether it works: %s', async (isHealthy, status) => {
    const server = await listen(
      createSandboxApp({
        handlers: {},
        logger: silentLogger,
        serviceUrl: () => 'http://127.0.0.1/api/v1',
        serverUrl: () => 'http://127.0.0.1/sandbox/v1',
        isHealthy: async () => isHealthy,
      }),
    );
    const answer = await askAs('10.1.2.3:4000', server.port, '/healthz');
    expect(answer).toEqual({ status, text: `{"ok":${isHealthy}}\n` });
    await server.drain(0);
  });
});
