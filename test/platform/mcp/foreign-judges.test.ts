import { createServer, request as open, type Server } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeFolder } from '../../support/make-folder.ts';
import { type Served, serve } from '../../support/serve.ts';
import { spawnCommand } from '../../support/spawn-command.ts';
import { worldOfFile } from '../oauth/oauth-fixture.ts';

const world = worldOfFile();
let token: string;
let proxy: Served;

/** The conformance suite knows no credentials: it comes through a proxy that adds one. */
function addCredential(port: number): Server {
  return createServer((incoming, response) => {
    const { method, url: path, headers } = incoming;
    const authorized = { ...headers, authorization: `Bearer ${token}` };
    const outgoing = open({ host: '127.0.0.1', port, method, path, headers: authorized }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    outgoing.on('error', () => response.destroy());
    response.on('close', () => outgoing.destroy());
    incoming.pipe(outgoing);
  });
}

beforeAll(async () => {
  token = (await world.obtainTokens(await world.register())).access;
  proxy = await serve(addCredential(world.service.port));
});
afterAll(() => proxy.close());

describe('the conformance suite for servers', () => {
  it.for(['2025-11-25', '2026-07-28'])(
    'reports exactly the expected results in revision %s',
    { timeout: 120_000 },
    async (revision) => {
      const suite = spawnCommand('conformance', [
        ...['server', '--url', `${proxy.url}/api/mcp`, '--requirements', revision],
        ...['--expected-failures', join(import.meta.dirname, 'expected-failures.yaml')],
      ]);
      try {
        const { code, stdout, stderr } = await suite.ended;
        expect([code, stderr], stdout.slice(stdout.indexOf('=== SUMMARY'))).toEqual([0, '']);
        expect(stdout).toMatch(/✓ tools-list: [34] passed, 0 failed/);
        expect(stdout).toMatch(/✓ dns-rebinding-protection: 2 passed, 0 failed/);
      } finally {
        await suite.kill();
      }
    },
  );
});

describe('the Inspector', () => {
  it('lists the tools, and accepts their schemas', { timeout: 120_000 }, async () => {
    const home = makeFolder();
    const words = [
      ...['--cli', `${world.service.origin}/api/mcp`, '--transport', 'http'],
      ...['--method', 'tools/list', '--strict'],
      ...['--header', `Authorization: Bearer ${token}`],
    ];
    // It keeps a catalog of servers in the home of its user.
    const inspector = spawnCommand('inspector', words, { env: { HOME: home } });
    try {
      const { code, stdout, stderr } = await inspector.ended;
      expect([code, stderr]).toEqual([0, '']);
      expect(stdout.match(/"name": "\w+_messaging_\w+"/g)).toHaveLength(3);
    } finally {
      await inspector.kill();
    }
  });
});
