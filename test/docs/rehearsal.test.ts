import { symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type DataFolder, makeDataFolder } from '../support/data-folder.ts';
import { findPortBase } from '../support/find-free-port.ts';
import { readBlocks, readProjectFile } from '../support/markdown.ts';
import { ROOT } from '../support/root.ts';
import { type SpawnedCommand, spawnCommand } from '../support/spawn-command.ts';

const SLOW_MS = 120_000;
const PAGE = readProjectFile('docs/deploy.md');
const SECTION = /^## Rehearse it\n[\s\S]*?(?=^## )/m.exec(PAGE)?.[0] ?? '';
const [SERVICE = '', WEB = '', WORKER = '', TRY = '', ...MORE] = readBlocks(SECTION).map(({ text }) => text);

describe('docs/deploy.md, rehearsed', () => {
  const ran: SpawnedCommand[] = [];
  let data: DataFolder;
  let checkout: string;
  /** Ports of the loop in place of 4000, 4010, 4011 and 4020. */
  let base: number;

  /** Runs a block in a terminal of a reader without an `.env` of their own. */
  const open = (text: string): SpawnedCommand => {
    const moved = text.replace(/\b40(\d\d)\b/g, (_, offset: string) => String(base + Number(offset)));
    const command = spawnCommand(
      'sh',
      ['-e', '-c', moved.replaceAll('curl -s', 'curl -s --fail-with-body')],
      {
        cwd: checkout,
        env: { SANDBOX_URL: `http://127.0.0.1:${base}` },
      },
    );
    ran.push(command);
    return command;
  };

  beforeAll(async () => {
    base = await findPortBase();
    data = await makeDataFolder();
    checkout = dirname(data.path);
    for (const name of ['package.json', 'src', 'node_modules'])
      await symlink(join(ROOT, name), join(checkout, name));
  });

  afterAll(async () => {
    for (const command of ran) await command.kill();
    await data.remove();
  }, SLOW_MS);

  it('has only commands that this test runs', () => {
    expect(MORE).toEqual([]);
    expect(TRY.split('\n').at(-1)).toMatch(/^curl .*\/v1\/changes/);
  });

  it(
    'sends a message through a web process and a worker, and finds it in the feed',
    async () => {
      const service = open(`${SERVICE} -- --port-base ${base}`);
      await service.said(/^npm run connector/);
      const printed = service.stdout();
      await writeFile(
        join(checkout, '.env'),
        printed.slice(printed.indexOf('# .env'), printed.indexOf('# Its tunnel')),
      );
      const [web, worker] = [open(WEB), open(WORKER)];
      expect(await web.said(/connector ready/)).toContain('"role":"web"');
      expect(await worker.said(/connector ready/)).toContain('"role":"worker"');

      const readAgain = `${TRY.split('\n')[0]}\n${TRY.split('\n').at(-1)}`;
      const { code, stdout, stderr } = await open(TRY).ended;
      expect(code, `${stdout}\n${stderr}`).toBe(0);
      expect(stdout).toContain('{"ok":true}');
      // As a reader repeats it: the send takes its time.
      await expect
        .poll(async () => (await open(readAgain).ended).stdout, { timeout: 60_000, interval: 500 })
        .toMatch(/"reference":"order-1".*"state":"sent"/);

      for (const command of [web, worker]) {
        command.signal('SIGINT');
        const end = await command.ended;
        expect(end.stdout).not.toContain('"level":"error"');
      }
    },
    SLOW_MS,
  );
});
