import { expect, it } from 'vitest';
import { portsFrom } from '../../src/commands/ports.ts';
import { findPortBase } from '../support/find-free-port.ts';
import { startTestLoop } from '../support/loop.ts';
import { readBlocks, readProjectFile } from '../support/markdown.ts';
import { ROOT } from '../support/root.ts';
import { spawnCommand } from '../support/spawn-command.ts';

const BLOCKS = readBlocks(readProjectFile('docs/oauth.md'))
  .filter(({ language }) => language === 'sh')
  .map(({ text }) => text.trim());

it('docs/oauth.md: an app is installed, loses its consent, and regains it', {
  timeout: 120_000,
}, async () => {
  const [start, ...others] = BLOCKS;
  expect(start).toBe('npm start');
  expect(others).toHaveLength(4);
  const base = await findPortBase();
  const { close } = await startTestLoop({ ports: portsFrom(base) });
  try {
    // One shell for all blocks, as for a person; a marker between the blocks separates their output.
    const script = others
      .join("\nprintf '\\n=====\\n'\n")
      .replace(/127\.0\.0\.1:40(\d\d)/g, (_, offset: string) => `127.0.0.1:${base + Number(offset)}`);
    const { code, stdout, stderr } = await spawnCommand('sh', ['-e', '-c', script], {
      cwd: ROOT,
      env: { SANDBOX_URL: `http://127.0.0.1:${base}` },
    }).ended;
    expect(code, `${stdout}\n${stderr}`).toBe(0);
    const [connected = '', shown = '', ended = '', again = ''] = stdout.split('\n=====\n');
    expect(connected).toContain('<h1>Connected</h1>');
    expect(shown).toContain('"phoneNumber":"447700900111"');
    expect(ended).toContain('"error":"reauth_required"');
    expect(ended).toContain('"state":"reauth_required"');
    expect(again).toContain('<h1>Connected</h1>');
    expect(again).not.toContain('reauth_required');
    expect(again.match(/"kind":"oauth"/g)).toHaveLength(1);
  } finally {
    await close();
  }
});
