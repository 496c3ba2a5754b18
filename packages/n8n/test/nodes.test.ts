import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestLoop, type TestLoop } from '../../../test/support/loop.ts';
import { mustSucceed, NPM_ENV } from '../../../test/support/npm.ts';
import { ROOT } from '../../../test/support/root.ts';
import { spawnCommand } from '../../../test/support/spawn-command.ts';

const PACKAGE = join(ROOT, 'packages/n8n');
const ENGINE = join(PACKAGE, 'test/engine');
const LOCK = readFileSync(join(ENGINE, 'package-lock.json'));
/** A project with the engine of n8n, installed once for each lock file. */
const PROJECT = join(
  ROOT,
  'node_modules/.cache',
  `n8n-${createHash('sha256').update(LOCK).digest('hex').slice(0, 12)}`,
);
const CONTACT = '447700900201';

describe('the nodes of packages/n8n', () => {
  /** The packed package, unpacked. */
  let folder: string;
  let loop: TestLoop;

  beforeAll(async () => {
    mkdirSync(PROJECT, { recursive: true });
    cpSync(ENGINE, PROJECT, { recursive: true });
    if (!existsSync(join(PROJECT, 'node_modules/.package-lock.json'))) {
      const words = ['ci', '--ignore-scripts', '--no-audit', '--no-fund'];
      await mustSucceed(spawnCommand('npm', words, { cwd: PROJECT, env: NPM_ENV }));
    }
    folder = mkdtempSync(join(tmpdir(), 'n8n-'));
    const pack = ['pack', '--pack-destination', folder];
    await mustSucceed(spawnCommand('npm', pack, { cwd: PACKAGE, env: NPM_ENV }));
    const archive = 'n8n-nodes-messaging-connector-0.1.0.tgz';
    await mustSucceed(spawnCommand('tar', ['-xzf', archive], { cwd: folder }));
    loop = await startTestLoop();
  });
  afterAll(async () => {
    await loop?.close();
    if (folder !== undefined) rmSync(folder, { recursive: true });
  });

  /** Runs calls one after the other. @throws Error with what n8n shows if one fails */
  async function run(...calls: readonly Record<string, unknown>[]) {
    const given = {
      ...{ folder: join(folder, 'package'), url: loop.connectorUrl, token: loop.connectorToken, calls },
    };
    const words = [join(PROJECT, 'run-node.cjs'), JSON.stringify(given)];
    const { code, stdout, stderr } = await spawnCommand('node', words, {
      cwd: PROJECT,
      env: { N8N_USER_FOLDER: folder },
    }).ended;
    if (code !== 0) throw new Error(stderr);
    return JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as {
      known: readonly string[];
      results: readonly (readonly Record<string, unknown>[])[];
    };
  }

  it('compile with the types of n8n', async () => {
    const types = join(PROJECT, 'node_modules/n8n-workflow/dist/esm/index.d.ts');
    const config = {
      extends: join(ROOT, 'tsconfig.json'),
      compilerOptions: { paths: { 'n8n-workflow': [types] }, typeRoots: [join(ROOT, 'node_modules/@types')] },
      include: [join(PACKAGE, 'src')],
      exclude: [],
    };
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config));
    await mustSucceed(spawnCommand('tsc', ['-p', join(folder, 'tsconfig.json')]));
  });

  it('are loaded from the packed package, which n8n knows by its names', async () => {
    const { known } = await run();
    expect(known).toEqual(['messagingConnector', 'messagingConnectorTrigger', 'messagingConnectorApi']);
  });

  it('queue texts and files, mark as read, and read lists page by page, in the engine of n8n', async () => {
    const connectionId = await loop.client.qrConnection();
    const ids: string[] = [];
    for (const text of ['one', 'two', 'three']) ids.push(await loop.client.write(connectionId, text));
    for (const id of ids) await loop.client.arrival(id);
    const file = { filename: 'a.txt', mimetype: 'text/plain', data: 'aGVsbG8=' };
    const { results } = await run(
      { operation: 'queueMessage', connectionId, to: CONTACT, text: 'Hello', reference: 'n8n-1' },
      { operation: 'queueMessage', connectionId, to: CONTACT, media: { value: file }, reference: 'n8n-2' },
      { operation: 'listMessages', options: { connectionId, direction: 'incoming', limit: 2 } },
      {
        operation: 'listMessages',
        returnAll: true,
        options: { connectionId, direction: 'incoming', limit: 2 },
      },
      { operation: 'getMessage', id: ids[0] },
      { operation: 'sendReadReceipt', connectionId, messageId: ids[0] },
      { operation: 'listConnections' },
    );
    const [text = [], sentFile = [], page = [], all = [], [message] = [], [read] = [], connections = []] =
      results;
    await loop.loop.settle();
    const { results: outbound } = await run(
      ...[...text, ...sentFile].map((sent) => ({ operation: 'getOutbound', id: sent['outboundId'] })),
    );
    expect(outbound.flat()).toMatchObject([
      { state: 'sent', to: CONTACT, text: 'Hello', reference: 'n8n-1' },
      { state: 'sent', text: null, media: { filename: 'a.txt', mimetype: 'text/plain' }, reference: 'n8n-2' },
    ]);
    expect(page.map((one) => one['text'])).toEqual(['three', 'two']);
    expect(all.map((one) => one['text'])).toEqual(['three', 'two', 'one']);
    expect(message).toMatchObject({ id: ids[0], text: 'one' });
    expect(read).toMatchObject({ ok: true });
    expect(connections.map(({ id }) => id)).toContain(connectionId);
  });

  it('fail with what the connector says', async () => {
    const call = {
      operation: 'queueMessage',
      connectionId: 'none',
      to: CONTACT,
      text: 'Hello',
      reference: 'n8n-3',
    };
    await expect(run(call)).rejects.toThrow('No connection with this id.');
  });
});
