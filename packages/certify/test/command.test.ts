import { once } from 'node:events';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import postgres from 'postgres';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { makeDataFolder } from '../../../test/support/data-folder.ts';
import { createTestDatabase } from '../../../test/support/database.ts';
import { startTestLoop } from '../../../test/support/loop.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { readProjectFile } from '../../../test/support/markdown.ts';
import { ofFile } from '../../../test/support/of-file.ts';
import { ROOT } from '../../../test/support/root.ts';
import { serve } from '../../../test/support/serve.ts';
import { type Ended, spawnCommand } from '../../../test/support/spawn-command.ts';
import { RECEIVER_CHECKS } from '../src/receiver/run-receiver-suite.ts';
import { Skip } from '../src/runner/check.ts';
import { readObserver, receiverSuite, shell } from '../src/suites.ts';
import { startConsumer } from './gallery/consumers.ts';
import { buildChecksPage, CHECKS_PAGE } from './gallery/matrix.ts';
import { SECRET, startGalleryReceiver } from './gallery/receiver.ts';

const PAGE = readProjectFile('docs/certify.md');
const CLI = join(ROOT, 'packages/certify/src/cli.mjs');

describe('docs/certify.md', () => {
  it('has the checks that `npm run docs` writes in the appendix (run it and commit the page)', () => {
    expect(readProjectFile(CHECKS_PAGE).split('\n')).toEqual(buildChecksPage().split('\n'));
  });

  it('shows a finding as an existing check words it', () => {
    const [, id = '', section = '', rule = ''] =
      /^FAIL {2}(\S+) {2}violates: (.+)\n {2}(.+)$/m.exec(PAGE) ?? [];
    const [, hint] = /^ {2}hint {6}(.+)$/m.exec(PAGE) ?? [];
    expect(RECEIVER_CHECKS.find((check) => check.id === id)).toMatchObject({ section, rule, hint });
  });
});

describe('npm run certify', () => {
  const right = ofFile(() => startGalleryReceiver({}));
  const wrong = ofFile(() =>
    startGalleryReceiver({
      otherMethod: 500,
      answer: ({ event }) => (event === 'message.reaction' ? 500 : 200),
    }),
  );
  const folder = ofFile(makeDataFolder, (made) => made.remove());

  const certify = (url: string, ...words: readonly string[]): Promise<Ended> =>
    spawnCommand('node', [CLI, url, ...words], { env: { CERTIFY_SECRET: SECRET } }).ended;

  it('names each option of the page in its help', async () => {
    const { stdout } = await certify('--help');
    const named = [...PAGE.matchAll(/`--([a-z-]+)/g)].map(([, name = '']) => name);
    expect(named.filter((name) => !stdout.includes(`--${name}`))).toEqual([]);
    expect(named.length).toBeGreaterThan(10);
  });

  it('exits with 0 for a correct receiver, and lists what was not requested', async () => {
    const { code, stdout } = await certify(right.url);
    expect(code).toBe(0);
    expect(stdout).toContain('--old-secret: 1 check');
    expect(stdout).toContain('43 of 43 checks kept, 1 of 44 not checked.');
  });

  it('judges an HTTP consumer, with lists and its database, if the profile says so', async () => {
    const consumer = await startConsumer({});
    const judge = (...words: readonly string[]) =>
      certify(consumer.url, '--profile', 'standard-webhooks', '--only', 'batch,effects', ...words);
    const storage = ['--storage-command', `echo {action} >> ${folder.path}.log`];
    const [list, json, all] = await Promise.all([
      judge('--list'),
      judge('--list', '--json'),
      judge('--batch', '100', '--observe', consumer.url, ...storage),
    ]);
    await consumer.close();
    expect(list.stdout).toMatch(/^E must {3}effects\.after-trouble .+ \(observer, storage\)$/m);
    expect(list.stdout).not.toContain('payload.message-received');
    expect(JSON.parse(json.stdout)).toContainEqual({
      ...{ id: 'effects.after-trouble', tier: 'E', level: 'must', needs: ['observer', 'storage'] },
      rule: expect.any(String),
    });
    expect(all.stdout).toContain('6 of 6 checks kept, 1 of 7 not checked.');
    expect(all.stdout).toContain('--restart-command: 1 check');
    expect(readFileSync(`${folder.path}.log`, 'utf8')).toBe('stop\nstart\n');
    expect(all.code).toBe(0);
  });

  it('exits with 1 for a faulty one, with a hint and a curl command, and without the secret', async () => {
    const { code, stdout, stderr } = await certify(wrong.url, '--only', 'payload,method');
    expect(code).toBe(1);
    expect(stdout).toMatch(
      /FAIL {2}payload\.unknown-event {2}violates: Versioning\n[\s\S]*hint {6}Answer 2xx to every genuine[\s\S]*repeat {4}curl -i/,
    );
    expect(stdout).toContain(
      'The receiver violates the specification: 9 of 11 checks kept, 1 violated, 1 advised',
    );
    expect(`${stdout}${stderr}`).not.toContain(SECRET);
  });

  it('reruns failed checks when Enter is pressed, until q', async () => {
    const command = spawnCommand('node', [CLI, wrong.url, '--only', 'payload', '--watch'], {
      env: { CERTIFY_SECRET: SECRET },
      stdin: true,
    });
    await command.said(/Enter runs what failed again/);
    command.type('\n');
    await command.said(/: 0 of 1 checks kept, 1 violated/);
    command.type('q\n');
    const { code, stdout } = await command.ended;
    expect(code).toBe(1);
    expect(stdout.match(/^FAIL +payload\.unknown-event /gm)).toHaveLength(4);
  });

  it('reads the effects from the database of the receiver with --observe-sql', async () => {
    const loop = await startTestLoop({ webhookSecret: SECRET });
    const observed = (query: string): Promise<Ended> =>
      certify(
        `${loop.connectorUrl}/webhooks/messaging`,
        ...['--only', 'effects.once,effects.status.rises', '--connection', 'cknown', '--patience', '2'],
        ...['--database-url', loop.databaseUrl, '--observe-sql', query],
      );
    const [right, none] = await Promise.all([
      observed('SELECT id, status, text FROM connector.messages'),
      observed('SELECT id, status FROM connector.messages WHERE false'),
    ]);
    await loop.close();
    expect([right.code, right.stdout]).toEqual([0, expect.stringContaining('4 of 4 checks kept')]);
    expect([none.code, none.stdout]).toEqual([1, expect.stringMatching(/^FAIL +effects\.once /m)]);
  });

  it('accepts the findings that a baseline lists, and rejects an outdated baseline', async () => {
    const file = `${folder.path}.txt`;
    const only = ['--only', 'payload', '--baseline', file];
    expect(await certify(wrong.url, ...only)).toMatchObject({ code: 0 });
    expect(readFileSync(file, 'utf8')).toMatch(/^# .*\npayload\.unknown-event\n$/);
    expect(await certify(wrong.url, ...only)).toMatchObject({ code: 0 });
    const { code, stderr } = await certify(right.url, ...only);
    expect(code).toBe(1);
    expect(stderr).toContain(`payload.unknown-event no longer fails: remove it from ${file}`);
    const unobserved = ['--observe-command', 'echo none', '--only', 'payload,effects.once'];
    expect(await certify(wrong.url, ...unobserved, '--baseline', file)).toMatchObject({ code: 2 });
    rmSync(file);
    // A run that could not judge everything makes no baseline.
    expect(await certify(wrong.url, ...unobserved, '--baseline', file)).toMatchObject({ code: 2 });
    expect(existsSync(file)).toBe(false);
  });

  it('exits with 2 if nothing could be judged: wrong usage, no receiver, a failing observer', async () => {
    const server = await serve(createServer((_request, response) => void response.end('none')));
    // As one whose process ends while it reads a request.
    const crashing = await serve(createServer((request) => request.socket.resetAndDestroy()));
    const ended = await Promise.all([
      certify('nowhere'),
      certify('http://127.0.0.1:9/webhooks'),
      certify(right.url, '--only', 'nothing'),
      certify(right.url, '--only', 'effects.once', '--observe-command', 'echo none'),
      certify(right.url, '--patience', 'long'),
      certify(right.url, '--batch', '1'),
      certify('http://receiver.invalid/webhooks'),
      certify('http://receiver.invalid/webhooks', '--only', 'nothing'),
      certify(right.url, '--level', 'E'),
      certify(`${crashing.url}/webhooks`),
      certify('--sandbox', server.url),
    ]);
    await Promise.all([server.close(), crashing.close()]);
    expect(ended.map(({ code }) => code)).toEqual(ended.map(() => 2));
    const [use, none, only, observer, patience, batch, elsewhere, onlyElsewhere, nothing, crashed, program] =
      ended;
    expect(program?.stderr).toContain(`${server.url} is not a sandbox (it names no API key).`);
    expect(nothing?.stdout).toContain('Not everything could be judged: 0 of 0 checks kept');
    expect(crashed?.stderr).toContain('Has its process ended? Look at its log.');
    expect(onlyElsewhere?.stderr).toContain('--only matches no check');
    expect(use?.stderr).toContain('The address of the receiver is missing');
    expect(none?.stderr).toContain('does not answer (none: ECONNREFUSED)');
    expect(only?.stderr).toContain('--only matches no check');
    expect(patience?.stderr).toContain('--patience must be a number of seconds');
    expect(batch?.stderr).toContain('--batch must be a number from 2 to 100');
    expect(observer?.stdout).toContain('the observer failed');
    expect(elsewhere?.stderr).toContain('To show that it is yours, serve this text at');
  });

  it('reports a command that never ends, or fails, as a fault of its option', async () => {
    const clock = new ManualClock();
    // What the shell has started holds the pipe open, and ends with it.
    const pipe = `${folder.path}.pipe`;
    await shell('--send-command', `mkfifo ${pipe}`);
    const command = `sleep 600 > ${pipe} & wait`;
    const hanging = expect(shell('--send-command', command, clock)).rejects.toThrow(
      new Skip('--send-command has not ended within 60 s'),
    );
    const held = await open(pipe);
    await clock.advance(60_000);
    await hanging;
    expect(await held.readFile('utf8')).toBe('');
    await held.close();
    rmSync(pipe);
    await expect(shell('--pair-command', 'exit 3', clock)).rejects.toThrow(/^--pair-command: Command failed/);
    await expect(shell('--pair-command', 'exit 3', clock)).rejects.toThrow(Skip);
    expect(clock.pending).toBe(0);
  });

  it('reports a query that never ends, and ends it', async () => {
    const clock = new ManualClock();
    const database = await createTestDatabase();
    const query = 'select pg_sleep(600)';
    const options = { 'observe-sql': query, 'database-url': database.url };
    const { observer, close } = readObserver(options, clock);
    const hanging = expect(observer?.()).rejects.toThrow(/--observe-sql has not ended within 60 s$/);
    const sql = postgres(database.url, { max: 1 });
    const running = () => sql`select from pg_stat_activity where query = ${query} and state = 'active'`;
    await expect.poll(running).toHaveLength(1);
    await clock.advance(60_000);
    await hanging;
    await expect.poll(running).toHaveLength(0);
    await Promise.all([sql.end(), close()]);
    await database.drop();
  });

  it('waits 10 s for the consent of a receiver on another machine', async () => {
    const silent = createServer();
    const { port, close } = await serve(silent);
    const clock = new ManualClock();
    const url = `http://0.0.0.0:${port}/webhooks`;
    const suite = receiverSuite(url, { secret: SECRET }, undefined, clock);
    const refused = expect(suite.demandConsent?.()).rejects.toThrow(
      'To show that it is yours, serve this text at',
    );
    await once(silent, 'request');
    await clock.advance(10_000);
    await refused;
    await close();
  });
});

describe('the package', () => {
  it.each(['examples/receivers/README.md', 'docs/your-crm.md', 'docs/certify.md'])(
    'is never downloaded under a name that nobody owns: %s',
    (file) => {
      const calls = readProjectFile(file).match(/npx[^\n]* messaging-\w+/g) ?? [];
      for (const call of calls) expect(call).toContain('npx --no-install messaging-');
    },
  );
});

describe('the action for GitHub', () => {
  it('passes its inputs to the command as environment variables, so that none is run as a script', () => {
    const action = parse(readProjectFile('action.yml')) as {
      inputs: Record<string, unknown>;
      runs: { steps: { run: string; env: Record<string, string> }[] };
    };
    for (const { run, env } of action.runs.steps) {
      expect(run).not.toContain('${{');
      for (const value of Object.values(env)) {
        const [, input] = /inputs\.(\w+)/.exec(value) ?? [];
        if (input === undefined) expect(value).toMatch(/^\$\{\{ github\.action_path \}\}$/);
        else expect(Object.keys(action.inputs)).toContain(input);
      }
    }
  });

  it('finds a receiver that closes the connection of a GET', async () => {
    const receiver = await startGalleryReceiver({ otherMethod: 0 });
    const { runs } = parse(readProjectFile('action.yml')) as { runs: { steps: { run: string }[] } };
    const waits = runs.steps.map(({ run }) => run).find((run) => run.includes('$WAIT')) ?? '';
    const env = { URL: receiver.url, WAIT: '1' };
    const { code } = await spawnCommand('bash', ['-e', '-c', waits], { env }).ended;
    await receiver.close();
    expect(code).toBe(0);
  });
});
