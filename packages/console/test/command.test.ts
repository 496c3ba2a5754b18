import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { makeFolder } from '../../../test/support/make-folder.ts';
import { type Receiver, startReceiver } from '../../../test/support/receiver.ts';
import { ROOT } from '../../../test/support/root.ts';
import { type SpawnedCommand, spawnCommand } from '../../../test/support/spawn-command.ts';

const TOKEN = 'token-of-an-operator-0123456789';
const NO_CHANGES = JSON.stringify({
  changes: [],
  nextCursor: '0',
  hasMore: false,
  feedId: 'feed1',
  lastSeq: 0,
});

let connector: Receiver;
let command: SpawnedCommand | undefined;

const run = (
  words: readonly string[],
  env: Record<string, string> = { CONNECTOR_API_TOKEN: TOKEN },
): SpawnedCommand => {
  command = spawnCommand('node', [join(ROOT, 'src/cli/console.ts'), ...words], { env });
  return command;
};

/** Opens a printed URL as a browser does. */
async function admit(url: string): Promise<{ url: string; cookie: string }> {
  const [cookie = ''] = (await fetch(url, { redirect: 'manual' })).headers.getSetCookie();
  return { url: new URL('/', url).href, cookie: cookie.split(';')[0] ?? '' };
}

async function start(words: readonly string[]): Promise<{ url: string; cookie: string }> {
  connector.script({ status: 200, headers: { 'content-type': 'application/json' }, body: NO_CHANGES });
  const started = run(['--connector', connector.origin, '--port', '0', '--json', ...words]);
  return admit((JSON.parse(await started.said(/"url"/)) as { url: string }).url);
}

beforeEach(async () => {
  connector = await startReceiver();
});

afterEach(async () => {
  await command?.kill();
  await connector.close();
});

describe('messaging-connector console', () => {
  it('forwards reads with the token, which the page never sees, and refuses writes', async () => {
    const { url, cookie } = await start(['--environment', 'staging']);
    expect(await (await fetch(`${url}console.json`, { headers: { cookie } })).json()).toEqual({
      mode: 'production',
      write: false,
      connector: true,
      deployment: { environment: 'staging', address: new URL(connector.origin).host },
    });
    connector.script({ status: 200, body: '{"messages":[]}' });
    const read = await fetch(`${url}connector/v1/messages?limit=1`, {
      headers: { cookie, authorization: 'Bearer mine' },
    });
    expect(await read.text()).toBe('{"messages":[]}');
    expect(connector.requests.at(-1)).toMatchObject({ method: 'GET', path: '/v1/messages?limit=1' });
    expect(connector.requests.at(-1)?.headers['authorization']).toEqual([`Bearer ${TOKEN}`]);

    const count = connector.requests.length;
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
      const write = await fetch(`${url}connector/v1/sync`, { method, headers: { cookie } });
      expect([write.status, await write.json()]).toEqual([
        403,
        { error: 'read_only', message: 'This console only reads. Start it with --write to change anything.' },
      ]);
    }
    expect(connector.requests).toHaveLength(count);
    const page = await fetch(url, { headers: { cookie } });
    expect([page.status, await page.text()]).toEqual([200, expect.not.stringContaining(TOKEN)]);
  });

  it('forwards writes with --write, except for pages of another origin', async () => {
    const { url, cookie } = await start(['--write']);
    const foreign = await fetch(`${url}connector/v1/sync`, {
      method: 'POST',
      headers: { cookie, origin: 'https://evil.example.com' },
    });
    expect([foreign.status, await foreign.json()]).toEqual([
      403,
      expect.objectContaining({ error: 'foreign_origin' }),
    ]);
    const headers = { cookie, 'content-type': 'application/json' };
    expect((await fetch(`${url}connector/v1/sync`, { method: 'POST', headers, body: '{}' })).status).toBe(
      200,
    );
    expect(connector.requests.at(-1)).toMatchObject({ method: 'POST', path: '/v1/sync' });
  });

  it('reads the token from a file, prints its address, and exits on SIGTERM', async () => {
    const folder = makeFolder();
    writeFileSync(join(folder, 'token'), `${TOKEN}\n`);
    connector.script({ status: 200, body: NO_CHANGES });
    const words = ['--connector', connector.origin, '--port', '0', '--token-file', join(folder, 'token')];
    const started = run(words, {});
    const line = await started.said(/^console/);
    expect(line).toMatch(/^console {5}http:\/\/127\.0\.0\.1:\d+\/\?token=[\w-]{43}$/);
    expect(await started.said(/^connector/)).toBe(
      `connector   ${connector.origin}, production, reads only; --write permits changes`,
    );
    const { url } = await admit(line.split(/\s+/)[1] ?? '');
    expect((await fetch(url, { headers: { accept: 'text/html' } })).status).toBe(401);
    await expect.poll(() => started.stdout().match(/\?token=/g)).toHaveLength(2);
    const another = started.stdout().trim().split('\n').at(-1) ?? '';
    expect((await admit(another.split(/\s+/)[1] ?? '')).cookie).toMatch(/^console-\d+=/);
    expect(connector.requests[0]?.headers['authorization']).toEqual([`Bearer ${TOKEN}`]);
    started.signal('SIGTERM');
    expect(await started.ended).toMatchObject({ code: 0, stderr: '' });
  });

  it.each([
    [
      401,
      '{"error":"unauthorized","message":"Wrong."}',
      'does not accept the token. Use its CONNECTOR_API_TOKEN',
    ],
    [403, '{"error":"missing_right","message":"Needs `read`."}', 'missing_right: Needs `read`.'],
    [200, '<html></html>', 'is not a connector of this version: it returned status 200.'],
    [404, '{}', 'is not a connector of this version: it returned status 404.'],
  ])('explains a first answer of %s %s, and exits with 1', async (status, body, words) => {
    connector.script({ status, body });
    const { code, stdout, stderr } = await run(['--connector', connector.origin]).ended;
    expect({ code, stdout, stderr }).toEqual({ code: 1, stdout: '', stderr: expect.stringContaining(words) });
  });

  it('names the address that the first answer redirects to', async () => {
    connector.script({
      status: 301,
      headers: { location: 'https://connector.example.com/v1/changes?after=latest' },
    });
    const { code, stderr } = await run(['--connector', connector.origin]).ended;
    expect([code, stderr]).toEqual([
      1,
      `The server at ${connector.origin} redirects to https://connector.example.com. Is --connector its address?\n`,
    ]);
  });

  it('names an address that does not respond', async () => {
    const { origin } = connector;
    await connector.close();
    const { code, stderr } = await run(['--connector', origin]).ended;
    connector = await startReceiver();
    expect([code, stderr]).toEqual([
      1,
      `No connector answers at ${origin} (ECONNREFUSED). Is --connector its address?\n`,
    ]);
  });

  it.each([
    [[], { CONNECTOR_API_TOKEN: TOKEN }, '--connector is missing'],
    [
      ['--connector', 'localhost:4020'],
      { CONNECTOR_API_TOKEN: TOKEN },
      '--connector must be an address such as',
    ],
    [['--connector', 'http://127.0.0.1:1'], {}, 'set CONNECTOR_API_TOKEN, or pass --token-file FILE'],
    [['--connector', 'http://127.0.0.1:1', '--token-file', '/nowhere'], {}, '--token-file cannot be read'],
    [
      ['--connector', 'http://127.0.0.1:1', '--port', '70000'],
      { CONNECTOR_API_TOKEN: TOKEN },
      '--port must be 0',
    ],
  ] as const)('refuses the line %j', async (words, env, reason) => {
    const { code, stderr } = await run(words, env).ended;
    expect([code, stderr]).toEqual([2, expect.stringContaining(reason)]);
  });
});
