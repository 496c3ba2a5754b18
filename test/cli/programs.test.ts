import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import * as modern from '@modelcontextprotocol/client';
import { StdioClientTransport as ModernStdio } from '@modelcontextprotocol/client/stdio';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { describe, expect, it, onTestFinished } from 'vitest';
import { loopOfFile } from '../support/loop-of-file.ts';
import { ROOT } from '../support/root.ts';
import { spawnCli } from '../support/spawn-command.ts';

const test = loopOfFile({ handlers: { onChange: () => undefined } });

it('npm run sandbox prints an answer', async () => {
  const { sandboxUrl, apiKey } = test.loop.info();
  const { code, stdout } = await spawnCli('sandbox', ['--url', sandboxUrl, 'info', 'apiKey']).ended;
  expect({ code, stdout }).toEqual({ code: 0, stdout: `${apiKey}\n` });
});

it('npm run consumers prints an answer', async () => {
  const words = ['list', '--connector', test.connectorUrl, '--json'];
  const ended = await spawnCli('consumers', words, { CONNECTOR_API_TOKEN: test.connectorToken }).ended;
  expect(ended).toMatchObject({ code: 0 });
  expect(JSON.parse(ended.stdout)).toMatchObject({ consumers: [{ name: 'handler' }] });
});

describe.each([
  'src/cli/bin.ts',
  'src/cli/sandbox.ts',
  'packages/certify/src/cli.mjs',
  'packages/conformance/src/cli.mjs',
])('%s', (program) => {
  it('prints no stack if nobody reads its output', async () => {
    const child = spawn(process.execPath, [join(ROOT, program), '--help'], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    child.stdout.destroy();
    const [stderr, [code]] = await Promise.all([text(child.stderr), once(child, 'exit')]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  });

  it.runIf(existsSync('/dev/full'))('fails in one line if its output cannot be written', async () => {
    const full = openSync('/dev/full', 'w');
    const child = spawn(process.execPath, [join(ROOT, program), '--help'], {
      stdio: ['ignore', full, 'pipe'],
    });
    closeSync(full);
    const [stderr, [code]] = await Promise.all([text(child.stderr as Readable), once(child, 'exit')]);
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: 'The output cannot be written: ENOSPC: no space left on device, write\n',
    });
  });
});

it.each([
  ['of today', modern.Client, ModernStdio],
  ['of the version before', Client, StdioClientTransport],
])('npm run mcp gives an agent the tools of the connector: a client %s', async (_which, Agent, Stdio) => {
  const transport = new Stdio({
    command: process.execPath,
    args: ['src/cli/mcp.ts', '--connector', test.connectorUrl],
    env: { CONNECTOR_API_TOKEN: test.connectorToken },
    cwd: ROOT,
  });
  const agent = new Agent({ name: 'test', version: '1' });
  // The types of the two versions differ.
  await agent.connect(transport as never);
  onTestFinished(() => agent.close());
  const { tools } = await agent.listTools();
  expect(tools.map(({ name }) => name)).toContain('why_is_it_missing');
  const { structuredContent } = await agent.callTool({ name: 'health', arguments: {} });
  expect(structuredContent).toMatchObject({ well: expect.any(Boolean) });
});
