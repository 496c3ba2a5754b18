import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { checkHandlers } from '../../src/connector/consumers/check-handlers.ts';
import { deadLetter } from '../../src/contract/connector/changes.ts';
import { generateSealingKey } from '../../src/runtime/sealing/key-ring.ts';
import { makeDataFolder } from '../support/data-folder.ts';
import { createTestDatabase } from '../support/database.ts';
import { findPortBase } from '../support/find-free-port.ts';
import { makeFolder } from '../support/make-folder.ts';
import { readBlocks, readProjectFile } from '../support/markdown.ts';
import { ofFile } from '../support/of-file.ts';
import { ROOT } from '../support/root.ts';
import { type SpawnedCommand, spawnCommand } from '../support/spawn-command.ts';

const SLOW_MS = 180_000;
const PAGE = readProjectFile('docs/your-crm.md');
const BLOCKS = readBlocks(PAGE);
const [handler, start, write, trouble, replay, replayAll, connector, create, ...others] = BLOCKS.filter(
  ({ language }) => language === 'sh',
).map(({ text }) => text);

describe('docs/your-crm.md', { timeout: SLOW_MS }, () => {
  let base: number;
  const folder = ofFile(makeDataFolder, (made) => made.remove());
  const own = makeFolder(afterAll);
  const database = ofFile(
    () => createTestDatabase({ connector: true, platform: true }),
    (made) => made.drop(),
  );
  let loop: SpawnedCommand;
  let token = '';
  /** Variables that blocks have set, as an open shell keeps them. */
  let variables: Record<string, string> = {};

  beforeAll(async () => {
    base = await findPortBase();
  });
  afterAll(() => loop?.kill(), SLOW_MS);

  /** The block with the ports of this test, and with a handler outside the repository. */
  const moved = (block = ''): string =>
    block
      .replace(/127\.0\.0\.1:40(\d\d)/g, (_, offset: string) => `127.0.0.1:${base + Number(offset)}`)
      .replaceAll('./handlers.mjs', join(own, 'handlers.mjs'));

  /** Runs a block as pasted, and fails if a line of it fails. Resolves with its output. */
  async function paste(block: string | undefined): Promise<string> {
    const strict = moved(block).replaceAll('curl -s ', 'curl -s --fail-with-body ');
    const script = `${strict}\nprintf '\\n%s\\n' "LETTER=$LETTER"`;
    const ended = await spawnCommand('sh', ['-e', '-c', script], {
      cwd: ROOT,
      env: { ...variables, CONNECTOR_API_TOKEN: token, SANDBOX_URL: `http://127.0.0.1:${base}` },
    }).ended;
    expect(ended.code, `${block}\n${ended.stdout}\n${ended.stderr}`).toBe(0);
    const [, LETTER = ''] = /\nLETTER=(.*)\n$/.exec(ended.stdout) ?? [];
    variables = { LETTER };
    return ended.stdout;
  }

  const call = async (path: string, body?: object, method = body === undefined ? 'GET' : 'POST') => {
    const answer = await fetch(`http://127.0.0.1:${base}${path}`, {
      method,
      headers: { 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    // biome-ignore lint/suspicious/noExplicitAny: read by field
    return (await answer.json()) as any;
  };

  it('leads to a handler that receives changes', async () => {
    expect(others).toEqual([]);
    await paste(handler);
    expect(start).toBe('npm ci && CONNECTOR_HANDLERS=./handlers.mjs npm start');
    const words = ['--', '--port-base', String(base), '--data-dir', folder.path];
    loop = spawnCommand('npm', ['start', ...words], {
      cwd: ROOT,
      env: { CONNECTOR_HANDLERS: join(own, 'handlers.mjs') },
    });
    token = (await loop.said(/^CONNECTOR_API_TOKEN=/)).slice('CONNECTOR_API_TOKEN='.length);
    await paste(write);
    const line = await loop.said(/writes: Hello CRM$/);
    const shown = BLOCKS.find(({ language }) => language === 'text')?.text ?? '';
    const withoutKey = (text: string) => text.replace(/[0-9a-f]{12}-\d+/, 'KEY');
    expect(withoutKey(line)).toBe(withoutKey(shown));
  });

  it('shows a dead letter, and replays it', async () => {
    await paste(trouble);
    const readLetters = async () => (await call('/connector/v1/dead-letters')).deadLetters;
    await expect.poll(readLetters).toHaveLength(1);
    await loop.said(/writes: Still there\?$/);
    const deadLetters = await readLetters();
    const shown = JSON.parse(BLOCKS.find(({ language }) => language === 'json')?.text ?? '');
    const [letter] = deadLetters;
    expect(letter).toMatchObject({
      change: { type: shown.change.type, data: shown.change.data },
      attempts: shown.attempts,
      lastError: expect.stringContaining(shown.lastError.replace(/^.*\((.*)\)$/, '$1')),
    });
    expect(letter.lastError).toContain(shown.lastError.replace(/ \(.*/, ''));
    expect(Object.keys(shown).every((field) => field in deadLetter.shape)).toBe(true);
    await paste(replay);
    const line = await loop.said(/writes: Trouble$/);
    expect(line).toContain(letter.id);
    expect(await paste(replayAll)).toContain('0 dead letters handed over again.');
    expect(await readLetters()).toEqual([]);
  });

  it('creates an HTTP consumer', async () => {
    expect(await paste(create)).toMatch(/^secret {2}whsec_\S+$/m);
    expect((await call('/connector/v1/consumers/crm')).url).toBe('http://127.0.0.1:3000/changes');
  });

  it('is read with the client, as docs/api.md shows', async () => {
    const example = readBlocks(readProjectFile('docs/api.md')).find(
      ({ language }) => language === 'ts',
    )?.text;
    const client = JSON.stringify(join(ROOT, 'src/client/index.ts'));
    const file = join(own, 'client.ts');
    writeFileSync(file, moved(example).replace("'messaging-connector/client'", client));
    const read = await spawnCommand('node', [file], { cwd: ROOT, env: { CONNECTOR_API_TOKEN: token } }).ended;
    expect(read.stdout, read.stderr).toMatch(/^\d+ message\.created$[\s\S]*^404 not_found\n$/m);
  });

  it('runs the same file against another service', async () => {
    const { workspace } = await call('/sandbox/v1/workspaces', { kind: 'standalone' });
    const paired = { provider: 'qr', phoneNumber: '447700900178' };
    const { connection } = await call(`/sandbox/v1/workspaces/${workspace.id}/connections`, paired);
    const { key } = await call(`/sandbox/v1/workspaces/${workspace.id}/api-keys`, {});
    const { SERVICE_BASE_URL = '' } = parseEnv(loop.stdout().slice(loop.stdout().indexOf('# .env')));
    const crm = spawnCommand('sh', ['-c', moved(connector)], {
      cwd: ROOT,
      env: {
        DATABASE_URL: database.url,
        CONNECTOR_PORT: '0',
        CONNECTOR_API_TOKEN: 'token-of-this-customer-01',
        CONNECTOR_SEALING_KEYS: generateSealingKey(),
        SERVICE_BASE_URL,
        SERVICE_API_KEY: key,
      },
    });
    await crm.said(/connector ready/);
    // No webhook points here, so the polls at startup find it.
    await call(`/sandbox/v1/contacts/447700900201/messages`, {
      connectionId: connection.id,
      text: 'By poll',
    });
    await crm.said(/^CRM .* writes: By poll$/);
    crm.signal('SIGTERM');
    const { stdout } = await crm.ended;
    expect(stdout).toContain('dispatch starts with the next change');
    expect(stdout).toContain('"msg":"stopping"');
    expect(stdout).not.toContain('"level":"error"');
  });

  it('names the exports of a handler module', () => {
    const named = [...PAGE.matchAll(/^\| `(attempts|deadlineMs)` \|.*\| (\d+) \|$/gm)];
    expect(named.map(([, name, unset]) => [name, unset])).toEqual([
      ['attempts', '12'],
      ['deadlineMs', '30000'],
    ]);
    expect(checkHandlers({ onChange: () => undefined, attempts: 100, deadlineMs: 30_000 })).toHaveProperty(
      'handlers',
    );
  });
});
