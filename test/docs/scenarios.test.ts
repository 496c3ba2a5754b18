import { dirname } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { readScenario } from '../../src/scenario/scenario.ts';
import { makeDataFolder } from '../support/data-folder.ts';
import { startTestLoop } from '../support/loop.ts';
import { readBlocks, readProjectFile } from '../support/markdown.ts';
import { ofFile } from '../support/of-file.ts';
import { ROOT } from '../support/root.ts';
import { type Ended, spawnCommand } from '../support/spawn-command.ts';

const blocks = readBlocks(readProjectFile('docs/scenarios.md'));
const [record = '', replay = ''] = blocks.filter(({ language }) => language === 'sh').map(({ text }) => text);

describe('docs/scenarios.md', { timeout: 120_000 }, () => {
  const loop = ofFile(startTestLoop);
  const folder = ofFile(makeDataFolder, (made) => made.remove());
  beforeAll(async () => {
    const connection = await loop.client.qrConnection();
    await loop.client.dropWebhooks();
    await loop.client.write(connection, 'Hello');
    await loop.loop.settle();
  });

  /** Runs a block in a folder of its own. `npm run -s NAME -- …` is replaced by the command itself. */
  const run = (block: string): Promise<Ended> => {
    const npm = `npm() { local name=$3; shift 4; node ${ROOT}/src/cli/$name.ts "$@"; }`;
    const { sandboxUrl } = loop.loop.info();
    return spawnCommand('bash', ['-c', `${npm}\n${block}`], {
      cwd: dirname(folder.path),
      env: { SANDBOX_URL: sandboxUrl },
    }).ended;
  };

  it('records a run, and replays it in its own loop without a difference', async () => {
    expect(await run(record)).toMatchObject({ code: 0, stderr: '' });
    const replayed = await run(replay);
    expect(replayed).toEqual({
      code: 0,
      stdout: '2 causes repeated, 2 observations compared: no difference.\n',
      stderr: expect.stringMatching(/^database {4}embedded Postgres, started; .*\n$/),
    });
  });

  it('shows a file that can be read', () => {
    const [example = ''] = blocks.filter(({ language }) => language === 'json').map(({ text }) => text);
    expect(readScenario(example).causes).toHaveLength(2);
  });
});
