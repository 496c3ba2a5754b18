import { once } from 'node:events';
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { readProcesses } from '../../src/commands/supervise-connector.ts';
import { systemClock } from '../../src/runtime/clock/system-clock.ts';
import { generateSealingKey } from '../../src/runtime/sealing/key-ring.ts';
import { ScriptedService } from '../connector/support/scripted-service.ts';
import { type DataFolder, makeDataFolder } from '../support/data-folder.ts';
import { createTestDatabase } from '../support/database.ts';
import { findFreePort } from '../support/find-free-port.ts';
import { planLoad } from '../support/load-plan.ts';
import { createLoadSender } from '../support/load-sender.ts';
import { ROOT } from '../support/root.ts';
import { type SpawnedCommand, spawnCommand } from '../support/spawn-command.ts';

const SLOW_MS = 180_000;
const SECRET = 'whsec_of_a_supervisor';
const SEED = 4_711;
const PACE = { burst: 4, everyMs: 20 };
const env = {
  CONNECTOR_SEALING_KEYS: generateSealingKey(),
  CONNECTOR_PORT: '0',
  WEBHOOK_SECRET: SECRET,
};

function supervise(words: readonly string[], more: Readonly<Record<string, string>>) {
  return spawnCommand('node', [join(ROOT, 'src/cli/connector.ts'), ...words], { env: { ...env, ...more } });
}

/** To the supervisor alone; `signal` of the command reaches all its processes. */
function tell(command: SpawnedCommand, signal: NodeJS.Signals): void {
  if (command.pid === undefined) throw new Error('the supervisor did not start');
  process.kill(command.pid, signal);
}

interface LogLine {
  readonly name: string;
  readonly msg: string;
  readonly level: string;
  readonly pid?: number;
  readonly url?: string;
}

function readLog(command: SpawnedCommand): LogLine[] {
  return command
    .stdout()
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line));
}

describe('npm run connector -- --processes 2, on its own Postgres', () => {
  let folder: DataFolder;
  let place: string;
  let command: SpawnedCommand;
  let service: ScriptedService;
  let url: string;
  let isRunning = false;
  /** The token with which it runs. */
  let token = 'first';
  /** The number of lines in the log when the test began. */
  let begin: number;

  const settings = (name: string, ...more: string[]): Promise<void> =>
    writeFile(join(place, '.env'), [`CONNECTOR_API_TOKEN=token-of-a-test-the-${name}`, ...more].join('\n'));
  const pointTo = async (target: string): Promise<void> => {
    await rm(join(place, 'current'), { force: true });
    await symlink(target, join(place, 'current'));
  };
  /** What the test made it log. */
  const logged = (msg: RegExp): LogLine[] =>
    readLog(command)
      .slice(begin)
      .filter((line) => msg.test(line.msg));
  const trouble = (): LogLine[] =>
    logged(/a process exited unexpectedly|did not exit in time|step of the shutdown failed/);
  const untilLogged = (msg: RegExp, times: number): Promise<void> =>
    expect.poll(() => logged(msg).length, { timeout: SLOW_MS }).toBe(times);
  const status = async (name: string): Promise<number> =>
    (await fetch(`${url}/v1/messages`, { headers: { authorization: `Bearer token-of-a-test-the-${name}` } }))
      .status;

  beforeAll(async () => {
    folder = await makeDataFolder();
    service = await ScriptedService.start();
    place = await mkdtemp(join(tmpdir(), 'test-supervisor-'));
    await settings(token);
    await pointTo(ROOT);
  });

  // Starts it for the first test, and after a test that has stopped it.
  beforeEach(async () => {
    if (!isRunning) {
      const script = join(place, 'current/src/cli/connector.ts');
      command = spawnCommand('node', [script, '--processes', '2', '--data-dir', folder.path], {
        env: { ...env, SERVICE_BASE_URL: service.baseUrl, SERVICE_API_KEY: 'key-1' },
        cwd: place,
      });
      url = JSON.parse(await command.said(/all processes ready/)).url;
      isRunning = true;
    }
    begin = readLog(command).length;
  }, SLOW_MS);

  afterAll(async () => {
    await command.kill();
    await service.close();
    await folder.remove();
    await rm(place, { recursive: true });
  }, SLOW_MS);

  it('names the process in each line of the log', () => {
    expect(new Set(readLog(command).map(({ name }) => name))).toEqual(
      new Set(['supervisor', 'connector-1', 'connector-2']),
    );
  });

  async function expectMetricsOfBoth(): Promise<void> {
    const answer = await fetch(`${url}/metrics`, {
      headers: { connection: 'close', authorization: `Bearer token-of-a-test-the-${token}` },
    });
    expect(answer.headers.get('content-type')).toContain('text/plain; version=0.0.4');
    const text = await answer.text();
    expect(text.match(/^process_start_time_seconds\{process="\d"\}/gm)).toEqual([
      'process_start_time_seconds{process="1"}',
      'process_start_time_seconds{process="2"}',
    ]);
    expect(text.match(/^# TYPE process_start_time_seconds /gm)).toHaveLength(1);
  }

  it('shows the metrics of both processes, whichever of them answers', async () => {
    for (let ask = 0; ask < 4; ask += 1) await expectMetricsOfBoth();
  });

  it(
    'replaces both processes on SIGHUP without refusing a webhook, and reads .env again',
    async () => {
      const [old, renewed] = [token, `${token}-renewed`];
      const sender = createLoadSender({
        secret: SECRET,
        clock: systemClock,
        // A client whose idle connection is closed at the moment in which it is used has to try again.
        keepAlive: false,
        targets: () => [`${url}/webhooks/messaging`],
      });
      onTestFinished(() => sender.close());
      expect(await status(old)).toBe(200);
      const over = new AbortController();
      const load = sender.run(planLoad({ seed: SEED, messages: 60_000, startAt: 0 }), PACE, over.signal);
      await settings(renewed);
      tell(command, 'SIGHUP');
      await untilLogged(/all processes replaced/, 1);
      token = renewed;
      over.abort();
      await load;

      expect(sender.sent.length).toBeGreaterThan(50);
      const refused = sender.sent
        .flatMap(({ attempts }) => attempts)
        .filter((attempt) => attempt.status !== 200);
      expect(refused).toEqual([]);
      expect(logged(/connector ready/)).toHaveLength(2);
      expect(trouble()).toEqual([]);
      expect([await status(old), await status(renewed)]).toEqual([401, 200]);
      await expectMetricsOfBoth();
    },
    SLOW_MS,
  );

  it(
    'starts new processes through the link with which it was started, wherever the link points now',
    async () => {
      onTestFinished(() => pointTo(ROOT));
      await pointTo(join(ROOT, 'docs'));
      tell(command, 'SIGHUP');
      await untilLogged(/roll-out stopped/, 1);
      expect(await status(token)).toBe(200);
      expect(trouble()).toEqual([]);
    },
    SLOW_MS,
  );

  it(
    'replaces a process that is killed',
    async () => {
      const { pid } = readLog(command).findLast(({ msg }) => msg.includes('connector ready')) ?? {};
      process.kill(pid ?? Number.NaN, 'SIGKILL');
      await untilLogged(/a process was started to replace the one that exited/, 1);
      expect(trouble()).toMatchObject([
        { name: 'supervisor', level: 'error', msg: 'a process exited unexpectedly', pid, outcome: 'SIGKILL' },
      ]);
      expect(await status(token)).toBe(200);
    },
    SLOW_MS,
  );

  it(
    'exits with 0 on a SIGTERM that all its processes receive, and the last one stops Postgres',
    async () => {
      isRunning = false;
      command.signal('SIGTERM');
      expect((await command.ended).code).toBe(0);
      expect(logged(/embedded Postgres stopped/)).toHaveLength(1);
      expect(trouble()).toEqual([]);
    },
    SLOW_MS,
  );
});

describe('a supervisor', () => {
  /** One of a single process that is ready. */
  async function start(): Promise<SpawnedCommand> {
    const database = await createTestDatabase({ connector: true });
    const more = { DATABASE_URL: database.url, CONNECTOR_API_TOKEN: 'token-of-a-test-0123456789' };
    const command = supervise(['--processes', '1'], more);
    onTestFinished(async () => {
      await command.kill();
      await database.drop();
    });
    await command.said(/all processes ready/);
    return command;
  }

  it(
    'that is killed leaves no process behind, and its processes shut down gracefully',
    async () => {
      const command = await start();
      tell(command, 'SIGKILL');
      // Resolves when the last process that writes to it is gone.
      await command.ended;
      expect(readLog(command).at(-1)).toMatchObject({
        name: 'connector-1',
        msg: expect.stringMatching(/^stopping/),
      });
    },
    SLOW_MS,
  );

  it(
    'that is told to stop waits for its processes, and exits with 1 if one is killed meanwhile',
    async () => {
      const command = await start();
      const { pid = Number.NaN } = readLog(command).find(({ msg }) => msg === 'connector ready') ?? {};
      process.kill(pid, 'SIGSTOP');
      tell(command, 'SIGTERM');
      await command.said(/"stopping"/);
      process.kill(pid, 'SIGKILL');
      expect((await command.ended).code).toBe(1);
      expect(readLog(command).at(-1)).toMatchObject({ name: 'supervisor', level: 'error' });
    },
    SLOW_MS,
  );

  it(
    'whose first process cannot start, because its port is taken, reports the reason and the setting to change once, and exits with 1',
    async () => {
      const port = await findFreePort();
      const holder = createServer().listen(port, '127.0.0.1');
      await once(holder, 'listening');
      const database = await createTestDatabase({ connector: true });
      const { code, stderr } = await supervise(['--processes', '3', '--json'], {
        DATABASE_URL: database.url,
        CONNECTOR_API_TOKEN: 'token-of-a-test-0123456789',
        CONNECTOR_PORT: String(port),
        LOG_LEVEL: 'warn',
      }).ended;
      expect(code).toBe(1);
      expect(stderr.match(/the port is in use/g)).toHaveLength(1);
      expect(stderr).toContain(`port ${port}: the port is in use`);
      expect(stderr).toContain('set CONNECTOR_PORT to another port');
      expect(stderr).toContain('process 1 ended with exit code 1 before it was ready');
      holder.close();
      await database.drop();
    },
    SLOW_MS,
  );

  it('refuses invalid settings before it starts a process', async () => {
    const { code, stderr } = await supervise(['--processes', '2'], {}).ended;
    expect(code).toBe(2);
    expect(stderr.match(/CONNECTOR_API_TOKEN/g)).toHaveLength(1);
  });

  it.each(['0', '65', '-1', '2.5', 'two', ''])('refuses %j processes', (value) => {
    expect(() => readProcesses({ processes: value })).toThrow('--processes must be a number from 1 to 64');
  });

  it('accepts 1 to 64 processes', () => {
    const read = (processes: string | undefined) => readProcesses({ processes });
    expect([undefined, '1', '64'].map(read)).toEqual([undefined, 1, 64]);
  });
});
