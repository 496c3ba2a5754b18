import { parseEnv } from 'node:util';
import postgres from 'postgres';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { startedGrant } from '../../src/contract/connector/accounts.ts';
import { type SandboxInfo, sandboxInfo } from '../../src/contract/sandbox/info.ts';
import { Browser, type Visit } from '../support/browser.ts';
import { type DataFolder, findLocation, makeDataFolder } from '../support/data-folder.ts';
import { createTestDatabase } from '../support/database.ts';
import { findPortBase } from '../support/find-free-port.ts';
import { callJson, createLoopClient, type ShownChange, type ShownMessage } from '../support/loop-client.ts';
import { type Ended, type SpawnedCommand, STOPPED, spawnCli } from '../support/spawn-command.ts';

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

describe('npm start', () => {
  const started: SpawnedCommand[] = [];
  let folder: DataFolder;
  let base: number;
  let terminal: Ended;
  let consent: Visit;
  let calls: readonly PromiseSettledResult<unknown>[];
  let reset: Record<'before' | 'after', { info: SandboxInfo; messages: readonly ShownMessage[] }>;
  /** What is stored when it ends. */
  let kept: { message: ShownMessage; feed: readonly ShownChange[] };

  /** Nothing is installed: with Postgres of its own, below a folder that only this user may enter. */
  function start(words: readonly string[], env: Readonly<Record<string, string>> = {}): SpawnedCommand {
    const command = spawnCli('start', [...words, '--data-dir', folder.path], env);
    started.push(command);
    return command;
  }

  // In a terminal: consent, calls, a reset, and Ctrl-C.
  beforeAll(async () => {
    folder = await makeDataFolder();
    base = await findPortBase();
    const command = start(['--port-base', String(base)]);
    await command.said(/^CONNECTOR_API_TOKEN=/);
    const url = `http://127.0.0.1:${base}/sandbox/v1`;
    const info = sandboxInfo.strict().parse(await callJson(`${url}/info`));
    consent = await giveConsent(info);
    const env = envOf(command.stdout());
    calls = await Promise.allSettled([
      callJson(`${env['SERVICE_BASE_URL']}/connections`, { token: String(env['SERVICE_API_KEY']) }),
      callJson(`${env['CONNECTOR_URL']}/v1/sync`, { token: String(env['CONNECTOR_API_TOKEN']) }),
    ]);
    const filling = createLoopClient(info);
    await filling.arrival(await filling.write(await filling.qrConnection(), 'Before the reset'));
    const before = { info, messages: await filling.messages() };

    const renewed = sandboxInfo.strict().parse(await callJson(`${url}/reset`, { method: 'POST', body: {} }));
    const client = createLoopClient(renewed);
    reset = { before, after: { info: renewed, messages: await client.messages() } };
    const message = await client.arrival(await client.write(await client.qrConnection(), 'After the reset'));
    kept = { message, feed: await client.changes() };
    command.signal('SIGINT');
    terminal = await command.ended;
  }, SLOW_MS);

  afterAll(async () => {
    for (const command of started) await command.kill();
    await folder.remove();
  });

  const envOf = (printed: string) => parseEnv(printed.slice(printed.indexOf('# .env')));

  async function giveConsent({ connectorUrl, connectorToken }: SandboxInfo): Promise<Visit> {
    const answer = await fetch(`${connectorUrl}/v1/accounts/oauth`, {
      method: 'POST',
      headers: { authorization: `Bearer ${connectorToken}` },
    });
    const { authorizationUrl } = startedGrant.parse(await answer.json());
    const browser = new Browser();
    return await browser.follow(await browser.goOn(authorizationUrl));
  }

  it('prints what it has done, then the addresses and the key', () => {
    const labels = terminal.stdout
      .split('\n')
      .map((line) => line.split(/ {2,}/)[0] ?? '')
      .filter((label) => NAMES.includes(label));
    expect(labels).toEqual(NAMES);
    expect(terminal.stdout).toMatch(
      /^self-check {2}by webhook: \d+ ms · webhook dropped, repaired by polling: \d+ ms$/m,
    );
  });

  it('listens on N, N+10, N+11 and N+20', () => {
    const address = (name: string): string | undefined =>
      new RegExp(`^${name} +(\\S+)$`, 'm').exec(terminal.stdout)?.[1];
    expect(address('console')).toBe(`http://127.0.0.1:${base}/`);
    expect(address('sandbox')).toBe(`http://127.0.0.1:${base}/sandbox/v1`);
    expect(address('service')).toBe(`http://127.0.0.1:${base + 10}/api/v1`);
    expect(address('legacy')).toBe(`http://127.0.0.1:${base + 11}/api/v1`);
    expect(address('connector')).toBe(`http://127.0.0.1:${base + 20}`);
  });

  it('includes an OAuth app: consent is given immediately, and the number is connected', () => {
    expect(new URL(consent.url).origin).toBe(`http://127.0.0.1:${base + 20}`);
    expect(consent.text).toContain('<h1>Connected</h1>');
    expect(consent.text).toContain('<li>+447700900111');
  });

  it('prints a block for .env with which an application can call both halves', () => {
    expect(Object.keys(envOf(terminal.stdout)).sort()).toEqual([
      'CONNECTOR_API_TOKEN',
      'CONNECTOR_URL',
      'SERVICE_API_KEY',
      'SERVICE_BASE_URL',
    ]);
    expect(calls.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled']);
  });

  it('starts from scratch on POST /reset: a new key, an empty connector, and new messages arrive', () => {
    const { before, after } = reset;
    expect(before.messages).toMatchObject([{ text: 'Before the reset' }]);
    expect(after.messages).toEqual([]);
    expect(after.info.apiKey).not.toBe(before.info.apiKey);
    expect(kept.message).toMatchObject({ text: 'After the reset' });
    expect(kept.feed.map(({ messageId }) => messageId)).not.toContain(before.messages[0]?.id);
    expect(terminal.stdout.trimEnd().split('\n').at(-1)).toBe(`reset       API key ${after.info.apiKey}`);
  });

  it('announces its end in two lines on standard error on Ctrl-C, and exits with 0', () => {
    expect(terminal.stderr).toMatch(STOPPED);
    expect(terminal.code).toBe(0);
  });

  it(
    'continues with the stored data, and with --json prints one line on standard output: the answer of GET /sandbox/v1/info',
    async () => {
      const { info: before } = reset.after;
      const second = start(['--json', '--port-base', '0'], { LOG_LEVEL: 'debug' });
      const after = sandboxInfo.strict().parse(JSON.parse(await second.said(/./)));
      const asked = await callJson<SandboxInfo>(`${after.sandboxUrl}/sandbox/v1/info`);
      expect({ ...asked, now: '' }).toEqual({ ...after, now: '' });
      expect(after.apiKey).toBe(before.apiKey);
      expect(after.workspaceId).toBe(before.workspaceId);
      const again = createLoopClient(after);
      const continued = await again.changes();
      expect(continued.slice(0, kept.feed.length)).toEqual(kept.feed);
      expect(continued.map(({ seq }) => seq)).toEqual(continued.map((_, index) => index + 1));
      const { id } = kept.message;
      expect(await again.messages()).toContainEqual(expect.objectContaining({ id, text: 'After the reset' }));

      const third = await start(['--json', '--port-base', '0']).ended;
      expect(third.code).toBe(1);
      expect(third.stdout).toBe('');
      expect(third.stderr).toContain(`A process is already running on this data: `);
      expect(third.stderr).toContain(`${after.sandboxUrl}/sandbox/v1/info`);
      expect(third.stderr).toContain('npm start -- --data-dir .data-2 --port-base 4200');
      await callJson(`${after.baseUrl}/connections`, { token: after.apiKey });

      second.signal('SIGTERM');
      const { code, stdout, stderr } = await second.ended;
      expect(code, stderr).toBe(0);
      expect(stdout.trimEnd().split('\n')).toHaveLength(1);
      for (const line of stderr.trimEnd().split('\n')) expect(() => JSON.parse(line), line).not.toThrow();
      const isRoot = process.getuid?.() === 0;
      expect(findLocation(stderr)?.startsWith(folder.path)).toBe(!isRoot);
    },
    SLOW_MS,
  );
});

it(
  'npm start on DATABASE_URL that is stopped with Ctrl-C while it starts announces its end in two lines on standard error',
  async () => {
    const database = await createTestDatabase({ platform: true });
    onTestFinished(() => database.drop());
    const folder = await makeDataFolder();
    onTestFinished(() => folder.remove());
    const command = spawnCli('start', ['--port-base', '0', '--data-dir', folder.path], {
      DATABASE_URL: database.url,
    });
    expect(await command.said(/^database /)).toBe('database    Postgres of DATABASE_URL');
    const before = command.stdout();
    command.signal('SIGINT');
    const { code, stdout, stderr } = await command.ended;
    expect(stderr).toMatch(STOPPED);
    expect(code).toBe(0);
    // What had not started is not told as if it had.
    expect(stdout).toBe(before);
    // Both halves had started there by the time it ended, and were closed.
    const sql = postgres(database.url, { max: 1 });
    onTestFinished(() => sql.end());
    expect(await sql`select from platform.sandbox_state where name = 'connector_data'`).toHaveLength(1);
  },
  SLOW_MS,
);

describe('npm start with invalid arguments or settings', () => {
  async function run(words: readonly string[], env: Readonly<Record<string, string>> = {}) {
    return await spawnCli('start', words, env).ended;
  }

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
});
