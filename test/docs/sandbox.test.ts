import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FAULT_ACTIONS } from '../../src/contract/sandbox/fault-actions.ts';
import { makeDataFolder } from '../support/data-folder.ts';
import { createTestDatabase } from '../support/database.ts';
import { findPortBase } from '../support/find-free-port.ts';
import { callJson } from '../support/loop-client.ts';
import { readBlocks, readProjectFile } from '../support/markdown.ts';
import { ofFile } from '../support/of-file.ts';
import { startReceiver } from '../support/receiver.ts';
import { ROOT } from '../support/root.ts';
import { isSignedWith } from '../support/signed-request.ts';
import { type SpawnedCommand, spawnCommand } from '../support/spawn-command.ts';

const SLOW_MS = 180_000;
const PAGE = readProjectFile('docs/sandbox.md');
const [
  start,
  helpers,
  workspace,
  byQr,
  byCode,
  webhook,
  timing,
  people,
  lists,
  signature,
  conditions,
  fault,
  clock,
  snapshot,
  reset,
  ci,
  ...others
] = readBlocks(PAGE)
  .filter(({ language }) => language === 'sh')
  .map(({ text }) => text);

// biome-ignore lint/suspicious/noExplicitAny: answers are looked into by field
type Answer = any;

describe('docs/sandbox.md', { timeout: SLOW_MS }, () => {
  const folder = ofFile(makeDataFolder, (made) => made.remove());
  const database = ofFile(
    () => createTestDatabase({ connector: true, platform: true }),
    (made) => made.drop(),
  );
  /** The reader's own program. */
  const program = ofFile(startReceiver);
  const received = () => program.requests.map(({ body }) => body.toString());
  let base: number;
  let platform: SpawnedCommand;
  /** Variables that blocks have set, as an open shell keeps them. */
  let variables: Record<string, string> = {};

  beforeAll(async () => {
    base = await findPortBase();
  });

  afterAll(() => platform?.kill(), SLOW_MS);

  const moved = (block: string): string =>
    block
      .replace(/127\.0\.0\.1:40(\d\d)/g, (_, offset: string) => `127.0.0.1:${base + Number(offset)}`)
      .replaceAll('127.0.0.1:3000', `127.0.0.1:${program.port}`);

  /** Runs a block as pasted, and fails if a line of it fails. Resolves with each JSON answer that it printed. */
  async function paste(block = ''): Promise<Answer[]> {
    const strict = moved(`${helpers}\n${block}`)
      .replaceAll('curl -s ', 'curl -s --fail-with-body ')
      // A shell variable captures the output for people.
      .replace(/^(sandbox|npm run -s sandbox --) .*$/gm, '$& --json');
    const names = ['WORKSPACE', 'CONNECTION', 'KEY', 'SECRET', 'BY_QR', 'BY_CODE'];
    const script = `${strict}\nprintf 'VARIABLES %s\\n' "${names.map((name) => `$${name}`).join(' ')}"`;
    const env = {
      ...variables,
      PLATFORM_DATABASE_URL: database.url,
      SANDBOX_URL: `http://127.0.0.1:${base}`,
    };
    const ended = await spawnCommand('sh', ['-e', '-c', script], { cwd: ROOT, env }).ended;
    expect(ended.code, `${block}\n${ended.stdout}\n${ended.stderr}`).toBe(0);
    const lines = ended.stdout.trimEnd().split('\n');
    const values = lines.pop()?.split(' ').slice(1) ?? [];
    variables = Object.fromEntries(names.map((name, place) => [name, values[place] ?? '']));
    return lines.filter((line) => line !== '').map((line) => JSON.parse(line));
  }

  const call = async (path: string): Promise<Answer> =>
    (await fetch(`http://127.0.0.1:${base}/sandbox/v1${path}`)).json();

  it('starts the platform', async () => {
    expect(start).toBe('npm ci && npm run platform');
    const words = ['run', 'platform', '--', '--port-base', String(base), '--data-dir', folder.path];
    platform = spawnCommand('npm', words, { cwd: ROOT, env: { PLATFORM_DATABASE_URL: database.url } });
    await platform.said(/^service /);
    expect(others).toEqual([]);
  });

  it('leads to a webhook call whose signature matches its secret', async () => {
    await paste(workspace);
    expect(await paste(webhook)).toMatchObject([{ host: 'acme.example.com' }]);
    expect(await paste(timing)).toEqual([{ sendScale: 0 }]);
    const [wrote, sent, phone] = await paste(people);
    expect(phone.entries).toEqual([
      expect.objectContaining({ messageId: sent.messageId, text: 'Good morning', from: '447700900150' }),
    ]);
    await expect.poll(() => received().map((body) => JSON.parse(body).message.id)).toContain(wrote.messageId);
    expect(isSignedWith(String(variables['SECRET']), program.requests[0])).toBe(true);
  });

  it('shows deliveries and calls of the workspace', async () => {
    const [deliveries, calls] = await paste(lists);
    expect(deliveries.entries).toMatchObject([{ connectionId: variables['CONNECTION'] }]);
    expect(calls.entries).toMatchObject([{ method: 'POST', path: '/messages', status: 200 }]);
  });

  it('explains a signature, and sends a copy', async () => {
    const [explained, copy] = await paste(signature);
    expect(explained).toMatchObject({ matches: false, expected: expect.stringMatching(/^sha256=/) });
    expect(explained.firstDifference.index).toBeGreaterThanOrEqual('sha256='.length);
    expect(copy).toMatchObject({ connectionId: variables['CONNECTION'], copyOf: expect.any(String) });
    await expect.poll(received).toContain('{"event":"message.new"}');
  });

  it('waits for a delivery, and verifies the order of two deliveries', async () => {
    const [waited, verified] = await paste(conditions);
    expect(waited).toMatchObject({ holds: true, entries: [{ connectionId: variables['CONNECTION'] }] });
    expect(verified).toMatchObject({ holds: true, differences: [] });
  });

  it('pairs numbers by QR code and by pairing code, which sends no connection.connected', async () => {
    expect(await paste(byQr)).toEqual([{ ok: true }]);
    expect(await paste(byCode)).toEqual([{ ok: true }]);
    const { entries } = await call(`/connections?workspaceId=${variables['WORKSPACE']}`);
    expect(entries).toMatchObject([
      { id: variables['CONNECTION'], status: 'connected' },
      { id: variables['BY_QR'], status: 'connected', label: 'By picture' },
      { id: variables['BY_CODE'], status: 'connected', label: 'By code', phoneNumber: '447700900151' },
    ]);
    const { entries: meant } = await call('/ledger?order=newest');
    expect(meant.map(({ event }: Answer) => event)).not.toContain('connection.connected');
  });

  it('rejects one send with the fault, but not the next one', async () => {
    await paste(fault);
    const send = (): Promise<unknown> =>
      callJson(`http://127.0.0.1:${base + 10}/api/v1/messages`, {
        method: 'POST',
        token: String(variables['KEY']),
        body: { connectionId: variables['CONNECTION'], to: '447700900202', text: 'x' },
      });
    await expect(send()).rejects.toThrow('answered 429');
    await send();
    expect((await call('/faults')).rules[0].hits).toBe(1);
  });

  it('names every fault action with its surfaces', () => {
    const rows = [...PAGE.matchAll(/^\| ((?:`\w+`(?:, )?)+) \| `(\w+)` \|/gm)];
    const named = rows.flatMap(([, surfaces = '', action = '']) =>
      [...surfaces.matchAll(/\w+/g)].map(([surface]) => `${surface} ${action}`),
    );
    const known = Object.entries(FAULT_ACTIONS).flatMap(([surface, actions]) =>
      actions.map((action) => `${surface} ${action}`),
    );
    expect(named.toSorted()).toEqual(known.toSorted());
  });

  it('returns to a snapshot', async () => {
    const [restored] = await paste(snapshot);
    expect(restored.label).toBe('numbers and webhook are ready');
    expect((await call('/snapshots')).entries).toEqual([restored]);
    expect((await call('/hosts')).entries).toMatchObject([{ host: 'acme.example.com' }]);
  });

  it('moves time, and resets', async () => {
    const before = Date.parse((await call('/clock')).now);
    const [advanced] = await paste(clock);
    expect(Date.parse(advanced.now) - before).toBeGreaterThanOrEqual(3_600_000);
    const [info] = await paste(reset);
    expect(info.workspaceId).not.toBe(variables['WORKSPACE']);
    expect((await call('/hosts')).entries).toEqual([]);
    expect(platform.stdout()).toContain(`reset       API key ${info.apiKey}`);
  });

  it('leads to documents and pages that exist', async () => {
    const paths = [...readProjectFile('docs/api.md').matchAll(/`(\/sandbox\/v1\/[\w.]+)`/g)].map(
      ([, path]) => path,
    );
    expect(paths).toHaveLength(2);
    expect(PAGE).toContain('<http://127.0.0.1:4000/docs>');
    expect((await fetch(`http://127.0.0.1:${base}/docs`)).status).toBe(200);
    for (const path of paths) {
      const document: Answer = await (await fetch(`http://127.0.0.1:${base}${path}`)).json();
      expect(document.openapi).toMatch(/^3\.1/);
    }
  });

  it('runs a platform for one job, and stops it', async () => {
    platform.signal('SIGTERM');
    await platform.ended;
    const [info] = await paste(ci);
    expect(info).toMatchObject({ connectorUrl: null, apiKey: expect.stringMatching(/^msk_/) });
    await expect
      .poll(
        () =>
          fetch(info.sandboxUrl).then(
            () => 'there',
            () => 'gone',
          ),
        { timeout: 20_000 },
      )
      .toBe('gone');
  });
});
