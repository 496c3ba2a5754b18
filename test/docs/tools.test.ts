import { describe, expect, it } from 'vitest';
import { startTestSandbox } from '../sandbox/fixture.ts';
import { readBlocks, readProjectFile } from '../support/markdown.ts';
import { ofFile } from '../support/of-file.ts';
import { ROOT } from '../support/root.ts';
import { spawnCommand } from '../support/spawn-command.ts';

const BLOCKS = readBlocks(readProjectFile('docs/tools.md'));

describe('docs/tools.md', () => {
  const bed = ofFile(startTestSandbox);

  it('leads from an app to tool calls with commands as pasted', { timeout: 120_000 }, async () => {
    expect(BLOCKS.map(({ language }) => language)).toEqual(['json', 'sh', 'sh', 'sh', 'sh']);
    const script = BLOCKS.slice(1)
      .map(({ text }) => text)
      .join('\n')
      .replaceAll('127.0.0.1:4000', `127.0.0.1:${bed.port}`)
      .replaceAll('127.0.0.1:4010', `127.0.0.1:${bed.service.port}`)
      .replaceAll('curl -s ', 'curl -s --fail-with-body ');
    const { code, stdout, stderr } = await spawnCommand('sh', ['-e', '-c', script], {
      cwd: ROOT,
      env: { SANDBOX_URL: `http://127.0.0.1:${bed.port}` },
    }).ended;
    expect(code, `${stdout}\n${stderr}`).toBe(0);
    const [app, ...answers] = stdout.trim().split('\n');
    expect(app).toMatch(/^\S+ \S+$/);
    const [list, sent, read] = answers.map((line): unknown =>
      JSON.parse(JSON.parse(line).result.content[0].text),
    );
    expect(list).toMatchObject({ connections: expect.arrayContaining([expect.anything()]) });
    expect(sent).toMatchObject({ status: 'sent', alreadySent: false });
    expect(read).toMatchObject({ messages: [{ text: 'Hello from an agent', direction: 'outgoing' }] });
    const { body } = await bed.call('GET', '/calls?path=/api/mcp');
    expect(body.entries.map(({ tool }: { tool: string }) => tool)).toEqual([
      'read_messaging_messages',
      'send_messaging_message',
      'list_messaging_connections',
    ]);
  });
});
