import { parseEnv } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { generateSealingKey } from '../../src/runtime/sealing/key-ring.ts';
import { makeDataFolder } from '../support/data-folder.ts';
import { createTestDatabase } from '../support/database.ts';
import { findFreePort, findPortBase } from '../support/find-free-port.ts';
import { callJson, createLoopClient, type LoopClient } from '../support/loop-client.ts';
import { type CodeBlock, readBlocks, readProjectFile } from '../support/markdown.ts';
import { ofFile } from '../support/of-file.ts';
import { ROOT } from '../support/root.ts';
import { type SpawnedCommand, spawnCommand } from '../support/spawn-command.ts';

const SLOW_MS = 180_000;
const README = readProjectFile('README.md');
const FIRST_HOUR = readProjectFile('docs/first-hour.md');
const API = readProjectFile('docs/api.md');
const BLOCKS = [...readBlocks(README), ...readBlocks(FIRST_HOUR)];
const SHELL = BLOCKS.filter(({ language }) => language === 'sh');

// biome-ignore lint/suspicious/noExplicitAny: answers are looked into by field
type Answer = any;

/** A line of a block and its answer. */
interface Ran {
  readonly line: string;
  readonly answer: Answer;
}

describe('README.md, docs/first-hour.md and docs/api.md', () => {
  /** Ports of the loop in place of 4000, 4010, 4011 and 4020. */
  let base: number;
  const folder = ofFile(makeDataFolder, (made) => made.remove());
  const database = ofFile(createTestDatabase, (made) => made.drop());
  let loop: SpawnedCommand;
  let client: LoopClient;
  /** Variables that lines have set, as an open shell keeps them. */
  const variables: Record<string, string> = {};
  const ran: Ran[] = [];

  beforeAll(async () => {
    base = await findPortBase();
  });

  afterAll(() => loop.kill(), SLOW_MS);

  const moved = (line: string): string =>
    line.replace(/127\.0\.0\.1:40(\d\d)/g, (_, offset: string) => `127.0.0.1:${base + Number(offset)}`);

  /** Each recognises the blocks that it can run. CI runs `npm ci` before this test. */
  const rules: readonly { readonly recognises: RegExp; run(block: CodeBlock): Promise<void> }[] = [
    { recognises: /^npm ci && npm start$/, run: startLoop },
    { recognises: /^(?:(?:\w+=\$\()?(?:curl -s|npm run (?:-s )?sandbox --) .+\n?)+$/, run: runCalls },
    { recognises: /^npm run connector$/, run: runConnector },
    { recognises: /^npm ci && npm test$/, run: isWhatCiRuns },
  ];

  async function startLoop(): Promise<void> {
    const words = ['start', '--', '--port-base', String(base), '--data-dir', folder.path];
    loop = spawnCommand('npm', words, { cwd: ROOT });
    await loop.said(/^CONNECTOR_API_TOKEN=/);
    client = createLoopClient(await callJson(`http://127.0.0.1:${base}/sandbox/v1/info`));
  }

  async function runCalls({ text }: CodeBlock): Promise<void> {
    for (const line of text.split('\n')) {
      const name = /^(\w+)=\$\(/.exec(line)?.[1];
      // Also fails for a refusal: what a reader pastes must work.
      const strict = moved(line)
        .replaceAll('curl -s ', 'curl -s --fail-with-body ')
        .replace(/^npm run -s sandbox -- .*/, '$& --json');
      const script = name === undefined ? strict : `${strict}\nprintf '"%s"' "$${name}"`;
      const { code, stdout, stderr } = await spawnCommand('sh', ['-e', '-c', script], {
        cwd: ROOT,
        env: { ...variables, SANDBOX_URL: `http://127.0.0.1:${base}` },
      }).ended;
      expect(code, `${line}\n${stdout}\n${stderr}`).toBe(0);
      const answer: Answer = JSON.parse(stdout);
      if (name !== undefined) variables[name] = answer;
      ran.push({ line, answer });
      // A reader takes a moment; a script would be faster than the webhook.
      const isLost = ran.findLast(({ line: earlier }) => earlier.includes('faults'))?.line.includes('drop');
      if (line.includes('say ') && isLost !== true) {
        await client.arrival(answer.messageId);
        await untilDelivered(client, answer.messageId);
      }
    }
  }

  async function runConnector({ text }: CodeBlock): Promise<void> {
    const port = await findFreePort();
    const customer = await makeCustomer('crm.example.com', `http://127.0.0.1:${port}`);
    const command = spawnCommand('sh', ['-c', text], {
      cwd: ROOT,
      env: { ...customer.env, CONNECTOR_PORT: String(port) },
    });
    await command.said(/connector ready/);

    const connector = createLoopClient({
      ...customer.info,
      connectorUrl: `http://127.0.0.1:${port}`,
      connectorToken: customer.env.CONNECTOR_API_TOKEN,
    });
    const messageId = await connector.write(await connector.qrConnection(), 'To the CRM');
    expect(await connector.arrival(messageId)).toMatchObject({ text: 'To the CRM' });
    await untilDelivered(connector, messageId);

    command.signal('SIGTERM');
    const { stdout } = await command.ended;
    expect(stdout).toContain('"msg":"stopping"');
    expect(stdout).not.toContain('"level":"error"');
  }

  /** The service records an answer of the connector shortly after it was sent. */
  async function untilDelivered(from: LoopClient, messageId: string): Promise<void> {
    const delivered = expect.objectContaining({ messageId, outcome: 'delivered' });
    await expect.poll(() => from.deliveries()).toContainEqual(delivered);
  }

  /** Creates a workspace with a number, a key and a tunnel, and the settings that the README names. */
  async function makeCustomer(host: string, target: string) {
    const sandbox = (method: string, path: string, body: unknown): Promise<Answer> =>
      callJson(`http://127.0.0.1:${base}/sandbox/v1${path}`, { method, body });
    const { workspace } = await sandbox('POST', '/workspaces', { kind: 'standalone' });
    const paired = { provider: 'qr', phoneNumber: '447700900177' };
    await sandbox('POST', `/workspaces/${workspace.id}/connections`, paired);
    const { key } = await sandbox('POST', `/workspaces/${workspace.id}/api-keys`, {});
    await sandbox('PUT', `/hosts/${host}`, { target });
    const printed = parseEnv(loop.stdout().slice(loop.stdout().indexOf('# .env')));
    const env = {
      DATABASE_URL: database.url,
      SERVICE_BASE_URL: String(printed['SERVICE_BASE_URL']),
      SERVICE_API_KEY: String(key),
      WEBHOOK_PUBLIC_URL: `https://${host}/webhooks/messaging`,
      CONNECTOR_API_TOKEN: 'token-of-this-customer-01',
      CONNECTOR_SEALING_KEYS: generateSealingKey(),
    };
    const named = [...README.matchAll(/^\| `([A-Z_]+)` \|/gm)].map(([, name]) => name);
    expect(named).toEqual(Object.keys(env));
    const info = { baseUrl: env.SERVICE_BASE_URL, apiKey: env.SERVICE_API_KEY };
    return { env, info: { ...info, sandboxUrl: `http://127.0.0.1:${base}` } };
  }

  /** This test is part of `npm test`, which CI runs after `npm ci`. */
  async function isWhatCiRuns(): Promise<void> {
    const steps = [...readProjectFile('.ci/run').matchAll(/^ *check '([^']+)' (.+?)(?: \|\| .*)?$/gm)];
    // What `tests` runs follows the name of its report.
    const commands = steps.map(([, , command]) => command?.replace(/^tests \S+ /, ''));
    expect(commands[0]?.replace(' --no-audit --no-fund', '')).toBe('npm ci');
    expect(commands).toContain('npm test');
  }

  it('has blocks to run', () => {
    expect(SHELL.length).toBeGreaterThan(5);
    expect(SHELL[0]?.text).toBe('npm ci && npm start');
  });

  it.each(SHELL.map((block) => [block.text.split('\n')[0]?.slice(0, 90), block] as const))(
    'contains a block that runs: %s',
    async (_, block) => {
      const rule = rules.find(({ recognises }) => recognises.test(block.text));
      if (rule === undefined) throw new Error(`no rule of this test can run the block:\n${block.text}`);
      await rule.run(block);
    },
    SLOW_MS,
  );

  it('shows the output of the start', () => {
    const sample = BLOCKS[BLOCKS.findIndex(({ text }) => text === 'npm ci && npm start') + 1];
    expect(sample?.language).toBe('text');
    let rest = loop.stdout();
    for (const line of moved(sample?.text ?? '').split('\n')) {
      const found = toPattern(line).exec(rest);
      expect(found, `not printed, or not here: ${line}`).not.toBeNull();
      rest = rest.slice((found?.index ?? 0) + (found?.[0].length ?? 0));
    }
  });

  it('describes the journey of a message correctly', () => {
    const [wrote, page] = ran;
    expect(page?.answer.messages).toEqual([
      expect.objectContaining({
        id: wrote?.answer.messageId,
        connectionId: variables['CONNECTION'],
        peer: '447700900201',
        text: 'Hello',
      }),
    ]);
  });

  it('describes a message with a lost webhook correctly', () => {
    const from = ran.findIndex(({ line }) => line.includes('faults'));
    const [armed, wrote, synced, page] = ran.slice(from);
    expect(armed?.answer.rules).toHaveLength(1);
    expect(synced?.answer.accounts).toHaveLength(1);
    expect(FIRST_HOUR).toContain('The message has arrived with `"firstSeenBy":"poll"` and `"peer":null`');
    expect(page?.answer.messages).toEqual([
      expect.objectContaining({
        id: wrote?.answer.messageId,
        text: 'Anybody there?',
        firstSeenBy: 'poll',
        peer: null,
      }),
    ]);
  });

  it('describes deliveries correctly', () => {
    const answerOf = (part: string): Answer => ran.find(({ line }) => line.includes(part))?.answer;
    const [hello, lost] = ran.filter(({ line }) => line.includes('say ')).map(({ answer }) => answer);
    expect(answerOf('deliveries').entries).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ messageId: hello.messageId, outcome: 'delivered' }),
        // A script reads them before the service gives up.
        expect.objectContaining({
          messageId: lost.messageId,
          outcome: expect.stringMatching(/^(pending|dropped)$/),
        }),
      ]),
    );
    expect(answerOf('faults clear').rules).toEqual([]);
  });

  it('describes pairing and an outage correctly', () => {
    const answersOf = (part: string): Answer[] =>
      ran.filter(({ line }) => line.includes(part)).map(({ answer }) => answer);
    expect(answersOf('scan "Second desk"')).toEqual([{ ok: true }]);
    const [paired, broken] = answersOf('sandbox -- connections').map(({ entries }) =>
      entries.find(({ label }: Answer) => label === 'Second desk'),
    );
    expect(paired).toMatchObject({ status: 'connected', licenseStatus: 'trial' });
    expect(broken).toMatchObject({ id: paired.id, status: 'disconnected' });
    expect(answersOf('advance 5m')[0].fired).toContainEqual(
      expect.objectContaining({ what: 'outage.found' }),
    );
    expect(answersOf('sandbox -- calls')[0].entries).toContainEqual(
      expect.objectContaining({
        status: 200,
        trace: expect.arrayContaining([{ check: 'credential', passed: true }]),
      }),
    );
  });

  it('describes pairing through the connector correctly', () => {
    expect(ran.find(({ line }) => line.includes('scan "Third desk"'))?.answer).toEqual({ ok: true });
  });

  it('describes the feed correctly: nothing is skipped or repeated', () => {
    const page = ran.find(({ line }) => line.includes('/changes?after=0'))?.answer;
    const seqs = page.changes.map(({ seq }: Answer) => seq);
    expect(seqs).toEqual(seqs.map((_: number, index: number) => index + 1));
    expect(page.changes.length).toBeGreaterThan(3);
  });

  it('lists only calls that exist, those of the connector with a token on its own port', async () => {
    const own = `http://127.0.0.1:${base + 20}`;
    const { paths } = await callJson<Answer>(`http://127.0.0.1:${base}/connector/v1/openapi.json`);
    const calls = findCalls(API);
    expect(calls.length).toBeGreaterThan(8);
    for (const { method, path } of calls) {
      if (!path.startsWith('/v1/') && path !== '/metrics') {
        expect((await fetch(`${own}${path}`)).status, path).toBe(200);
        continue;
      }
      expect(Object.keys(paths[path] ?? {}), path).toContain(method.toLowerCase());
      expect((await fetch(`${own}${path.replace('{id}', 'x')}`, { method })).status, path).toBe(401);
    }
  });

  it('shows a handler that can be called with the change above it', async () => {
    const [shown] = readBlocks(README).filter(({ language }) => language === 'json');
    const [handler] = readBlocks(README).filter(({ language }) => language === 'js');
    const call = `${handler?.text}\nawait onChange(${shown?.text}, { key: 'a1-5' });`;
    const { stdout } = await spawnCommand('node', ['--input-type=module', '-e', call], { cwd: ROOT }).ended;
    expect(stdout).toBe('a1-5: 447700900201 wrote "Is my order on its way?"\n');
  });

  it('exits on Ctrl-C, as the start says', async () => {
    loop.signal('SIGINT');
    await loop.ended;
    await expect(fetch(`http://127.0.0.1:${base}/sandbox/v1/info`)).rejects.toThrow('fetch failed');
  });
});

/** Matches a line of sample output. Numbers, the folder (longer for root) and what an ellipsis replaces may differ. */
function toPattern(line: string): RegExp {
  const escaped = line.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  const open = escaped
    .replace('data in \\.data/postgres', '.*data (is )?in \\S+')
    .replaceAll('…', '\\S+')
    .replace(/\d+(?= ms)|\d+\\\.\d+(?= s;)/g, '[\\d.]+');
  return new RegExp(`^${open}$`, 'm');
}

/** The calls in a table; a path without a method takes that of the one before it. */
function findCalls(page: string): readonly { readonly method: string; readonly path: string }[] {
  const rows = [...page.matchAll(/^\| (`.+`) \|/gm)].map(([, cell = '']) => cell);
  const spans = rows.flatMap((cell) => [...cell.matchAll(/`(?:([A-Z]+) )?(\/[^`]*)`/g)]);
  let method = '';
  return spans.map(([, given, path = '']) => {
    method = given ?? method;
    return { method, path };
  });
}
