import { once } from 'node:events';
import { createServer } from 'node:net';
import { parseEnv } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startedGrant } from '../../src/contract/connector/accounts.ts';
import { type SandboxInfo, sandboxInfo } from '../../src/contract/sandbox/info.ts';
import { Browser } from '../support/browser.ts';
import { type DataFolder, findLocation, makeDataFolder } from '../support/data-folder.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { callJson, createLoopClient } from '../support/loop-client.ts';
import { findPortBase, type SpawnedCommand, spawnCli } from '../support/spawn-command.ts';

/** Starting Postgres and four listeners on a busy machine takes a while. */
const SLOW_MS = 120_000;

const NAMES = [
  'database',
  'self-check',
  'ready',
  'console',
  'service',
  'legacy',
  'sandbox',
  'connector',
  'API key',
];

function readInfo(line: string): SandboxInfo {
  return sandboxInfo.strict().parse(JSON.parse(line));
}

describe('npm start in a terminal', () => {
  let database: TestDatabase;
  let folder: DataFolder;
  let command: SpawnedCommand;
  let base: number;

  beforeAll(async () => {
    database = await createTestDatabase();
    folder = await makeDataFolder();
    base = await findPortBase();
    command = spawnCli('start', ['--port-base', String(base), '--data-dir', folder.path], {
      DATABASE_URL: database.url,
      PLATFORM_DATABASE_URL: database.url,
    });
    await command.said(/^CONNECTOR_API_TOKEN=/);
  }, SLOW_MS);

  afterAll(async () => {
    await command.kill();
    await folder.remove('');
    await database.drop();
  });

  it('prints what it has done, then the addresses and the key', () => {
    const labels = command
      .stdout()
      .split('\n')
      .map((line) => line.split(/ {2,}/)[0] ?? '')
      .filter((label) => NAMES.includes(label));
    expect(labels).toEqual(NAMES);
    expect(command.stdout()).toMatch(
      /^self-check {2}by webhook: \d+ ms · webhook dropped, repaired by polling: \d+ ms$/m,
    );
  });

  it('listens on N, N+10, N+11 and N+20', () => {
    const address = (name: string): string | undefined =>
      new RegExp(`^${name} +(\\S+)$`, 'm').exec(command.stdout())?.[1];
    expect(address('console')).toBe(`http://127.0.0.1:${base}/`);
    expect(address('sandbox')).toBe(`http://127.0.0.1:${base}/sandbox/v1`);
    expect(address('service')).toBe(`http://127.0.0.1:${base + 10}/api/v1`);
    expect(address('legacy')).toBe(`http://127.0.0.1:${base + 11}/api/v1`);
    expect(address('connector')).toBe(`http://127.0.0.1:${base + 20}`);
  });

  it('includes an OAuth app: consent is given immediately, and the number is connected', async () => {
    const { connectorUrl, connectorToken } = sandboxInfo.parse(
      await callJson(`http://127.0.0.1:${base}/sandbox/v1/info`),
    );
    const answer = await fetch(`${connectorUrl}/v1/accounts/oauth`, {
      method: 'POST',
      headers: { authorization: `Bearer ${connectorToken}` },
    });
    const { authorizationUrl } = startedGrant.parse(await answer.json());
    const browser = new Browser();
    const page = await browser.follow(await browser.goOn(authorizationUrl));
    expect(new URL(page.url).origin).toBe(connectorUrl);
    expect(page.text).toContain('<h1>Connected</h1>');
    expect(page.text).toContain('<li>+447700900111');
  });

  it('prints a block for .env with which an application can call both halves', async () => {
    const printed = command.stdout();
    const env = parseEnv(printed.slice(printed.indexOf('# .env')));
    expect(Object.keys(env).sort()).toEqual([
      'CONNECTOR_API_TOKEN',
      'CONNECTOR_URL',
      'SERVICE_API_KEY',
      'SERVICE_BASE_URL',
    ]);
    await callJson(`${env['SERVICE_BASE_URL']}/connections`, { token: String(env['SERVICE_API_KEY']) });
    await callJson(`${env['CONNECTOR_URL']}/v1/sync`, { token: String(env['CONNECTOR_API_TOKEN']) });
  });

  it('reports at a second start on the same data that it is already running, where, and how to run another', async () => {
    const { code, stdout, stderr } = await spawnCli('start', ['--data-dir', folder.path], {
      DATABASE_URL: database.url,
      PLATFORM_DATABASE_URL: database.url,
    }).ended;
    expect(code).toBe(1);
    expect(stdout).not.toContain('ready');
    expect(stderr).toContain(
      `A process is already running on this data (pid ${command.pid}): http://127.0.0.1:${base}/sandbox/v1/info returns its addresses`,
    );
    expect(stderr).toContain('PLATFORM_DATABASE_URL=postgres://… npm start -- --port-base 4200');
  });

  it('starts from scratch on POST /reset: a new key, an empty connector, and new messages arrive', async () => {
    const sandboxUrl = `http://127.0.0.1:${base}`;
    const before = readInfo(JSON.stringify(await callJson(`${sandboxUrl}/sandbox/v1/info`)));
    const filling = createLoopClient(before);
    const first = await filling.write(await filling.qrConnection(), 'Before the reset');
    const filled = await filling.arrival(first);

    const after = readInfo(
      JSON.stringify(await callJson(`${sandboxUrl}/sandbox/v1/reset`, { method: 'POST', body: {} })),
    );
    const client = createLoopClient(after);
    const emptied = await client.messages();
    const messageId = await client.write(await client.qrConnection(), 'After the reset');

    expect(filled).toMatchObject({ text: 'Before the reset' });
    expect(emptied).toEqual([]);
    expect(after.apiKey).not.toBe(before.apiKey);
    expect(await client.arrival(messageId)).toMatchObject({ id: messageId, text: 'After the reset' });
    expect(command.stdout().trimEnd().split('\n').at(-1)).toBe(`reset       API key ${after.apiKey}`);
  });
});

describe('npm start, restarted on the same data', () => {
  const words = (folder: DataFolder): string[] => ['--json', '--port-base', '0', '--data-dir', folder.path];
  let folder: DataFolder;
  let printed = '';
  const started: SpawnedCommand[] = [];

  /** Nothing is installed: with Postgres of its own, below a folder that only this user may enter. */
  function start(): SpawnedCommand {
    const command = spawnCli('start', words(folder), { LOG_LEVEL: 'info' });
    started.push(command);
    return command;
  }

  beforeAll(async () => {
    folder = await makeDataFolder();
  });

  afterAll(async () => {
    for (const command of started) await command.kill();
    await folder.remove(printed);
  });

  it(
    'exits with 0 on Ctrl-C, and the next start continues with the stored data',
    async () => {
      const first = start();
      const before = readInfo(await first.said(/^\{"baseUrl"/));
      const client = createLoopClient(before);
      const messageId = await client.write(await client.qrConnection(), 'Kept');
      await client.arrival(messageId);
      const feed = await client.changes();

      first.signal('SIGINT');
      const { code, stdout, stderr } = await first.ended;
      printed = stderr;

      expect(code, stderr).toBe(0);
      expect(stdout.trimEnd().split('\n')).toHaveLength(1);
      const isRoot = process.getuid?.() === 0;
      expect(findLocation(stderr)?.startsWith(folder.path)).toBe(!isRoot);

      const second = start();
      const after = readInfo(await second.said(/^\{"baseUrl"/));
      const again = createLoopClient(after);
      expect(after.apiKey).toBe(before.apiKey);
      expect(after.workspaceId).toBe(before.workspaceId);
      const continued = await again.changes();
      expect(continued.slice(0, feed.length)).toEqual(feed);
      expect(continued.map(({ seq }) => seq)).toEqual(continued.map((_, index) => index + 1));
      expect(await again.messages()).toContainEqual(expect.objectContaining({ id: messageId, text: 'Kept' }));

      const third = await start().ended;
      expect(third.code).toBe(1);
      expect(third.stdout).toBe('');
      expect(third.stderr).toContain(`A process is already running on this data (pid ${second.pid})`);
      expect(third.stderr).toContain(`${after.sandboxUrl}/sandbox/v1/info`);
      expect(third.stderr).toContain('npm start -- --data-dir .data-2 --port-base 4200');
      await callJson(`${after.baseUrl}/connections`, { token: after.apiKey });

      second.signal('SIGTERM');
      expect(await second.ended).toMatchObject({ code: 0 });
    },
    SLOW_MS,
  );
});

describe('npm start, stopped with Ctrl-C', () => {
  const STOPPED =
    /^stopping {4}press Ctrl-C again to stop at once\nstopped {5}in \d+\.\d s; the data is kept\n$/;
  let folder: DataFolder;
  let database: TestDatabase;

  beforeAll(async () => {
    database = await createTestDatabase({ connector: true, platform: true });
    folder = await makeDataFolder();
  });

  afterAll(async () => {
    await folder.remove('');
    await database.drop();
  });

  it.each([
    ['start', 'begins to start', /^database /],
    ['start', 'has just started', /^ready /],
    ['platform', 'serves', /^npm run connector/],
  ] as const)(
    'announces its end in two lines on standard error: npm run %s that %s',
    async (name, _, line) => {
      const command = spawnCli(name, ['--port-base', '0', '--data-dir', folder.path], {
        DATABASE_URL: database.url,
        PLATFORM_DATABASE_URL: database.url,
      });
      await command.said(line);
      const before = command.stdout();
      command.signal('SIGINT');
      const { code, stdout, stderr } = await command.ended;
      expect(stderr).toMatch(STOPPED);
      expect(code).toBe(0);
      // What had not started is not told as if it had.
      if (line.source.includes('database')) expect(stdout).toBe(before);
    },
    SLOW_MS,
  );
});

describe('npm start -- --json', () => {
  it(
    'prints one line on standard output: the answer of GET /sandbox/v1/info',
    async () => {
      const database = await createTestDatabase({ connector: true, platform: true });
      const folder = await makeDataFolder();
      const command = spawnCli('start', ['--json', '--port-base', '0', '--data-dir', folder.path], {
        DATABASE_URL: database.url,
        PLATFORM_DATABASE_URL: database.url,
        LOG_LEVEL: 'debug',
      });

      const info = readInfo(await command.said(/./));
      const asked = await callJson<SandboxInfo>(`${info.sandboxUrl}/sandbox/v1/info`);
      command.signal('SIGTERM');
      const { code, stdout, stderr } = await command.ended;

      expect(code).toBe(0);
      expect(stdout.trimEnd().split('\n')).toHaveLength(1);
      expect({ ...asked, now: '' }).toEqual({ ...info, now: '' });
      for (const line of stderr.trimEnd().split('\n')) expect(() => JSON.parse(line), line).not.toThrow();
      await folder.remove('');
      await database.drop();
    },
    SLOW_MS,
  );
});

describe('npm start with invalid arguments or settings', () => {
  async function run(words: readonly string[], env: Readonly<Record<string, string>> = {}) {
    return await spawnCli('start', words, env).ended;
  }

  it('prints its options', async () => {
    const { code, stdout, stderr } = await run(['--help']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    for (const option of ['--json', '--port-base N', '--data-dir DIR', '--help', '--version']) {
      expect(stdout).toContain(`  ${option} `);
    }
  });

  it('refuses an invalid argument, and names it', async () => {
    const { code, stdout, stderr } = await run(['--port-base', '80']);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toBe('--port-base must be 0 or a number from 1024 to 65515, not "80".\n');
  });

  it('names every invalid setting, and prints no secret', async () => {
    const { code, stderr } = await run([], {
      RECONCILE_INTERVAL_MS: '5',
      CONNECTOR_PORT: 'port',
      SERVICE_API_KEY: 'a key with spaces',
    });
    expect(code).toBe(2);
    for (const name of ['RECONCILE_INTERVAL_MS', 'CONNECTOR_PORT', 'SERVICE_API_KEY']) {
      expect(stderr).toContain(name);
    }
    expect(stderr).not.toContain('a key with spaces');
  });

  it(
    'names the port that is in use and the option to change',
    async () => {
      const database = await createTestDatabase({ connector: true, platform: true });
      const folder = await makeDataFolder();
      const base = await findPortBase();
      const holder = createServer().listen(base + 11, '127.0.0.1');
      await once(holder, 'listening');

      const { code, stdout, stderr } = await run(['--port-base', String(base), '--data-dir', folder.path], {
        DATABASE_URL: database.url,
        PLATFORM_DATABASE_URL: database.url,
      });

      expect(code).toBe(1);
      expect(stderr).toContain(
        `Cannot listen on 127.0.0.1 port ${base + 11}: the port is in use. Stop the process that uses it, or set --port-base`,
      );
      expect(stdout).not.toContain('ready');
      holder.close();
      await folder.remove('');
      await database.drop();
    },
    SLOW_MS,
  );
});
