import { Readable } from 'node:stream';
import { afterEach, expect, it, vi } from 'vitest';
import { runMcp } from '../../src/commands/run-mcp.ts';
import { findFreePort } from '../support/find-free-port.ts';
import { loopOfFile } from '../support/loop-of-file.ts';
import { runInProcess } from '../support/run-in-process.ts';

const test = loopOfFile();

afterEach(() => vi.unstubAllEnvs());

/** Passes these messages on; resolves with what was printed, line by line. */
async function pass(lines: readonly string[], url = test.connectorUrl, token = test.connectorToken) {
  vi.stubEnv('CONNECTOR_API_TOKEN', token);
  const input = Readable.from(lines.map((line) => `${line}\n`));
  const { stdout, ...ended } = await runInProcess(
    (words, streams) => runMcp(words, input, streams),
    ['--connector', url],
  );
  return { ...ended, answers: stdout.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line)])) };
}

const LIST = '{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{}}';
const NOTIFICATION = '{"jsonrpc":"2.0","method":"notifications/initialized"}';

it('answers each request in one line, and no notification or empty line', async () => {
  const { answers, code, stderr } = await pass(['', NOTIFICATION, LIST]);
  expect(answers).toEqual([
    { jsonrpc: '2.0', id: 7, result: expect.objectContaining({ tools: expect.any(Array) }) },
  ]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
});

it('answers a line that is not JSON with a parse error', async () => {
  const { answers } = await pass(['{"jsonrpc":']);
  const error = { code: -32_700, message: 'The line is not JSON.' };
  expect(answers).toEqual([{ jsonrpc: '2.0', id: null, error }]);
});

it.each([
  [
    'nobody listens',
    async () => `http://127.0.0.1:${await findFreePort()}`,
    () => test.connectorToken,
    'ECONNREFUSED',
  ],
  [
    'the token is refused',
    async () => test.connectorUrl,
    () => 'another-token-0123456789',
    'it does not accept the token; use one of its API tokens',
  ],
  [
    'the address is another',
    async () => `${test.connectorUrl}/v1`,
    () => test.connectorToken,
    'This path does not exist.',
  ],
])('answers a request with an error that says why if %s, and goes on', async (_why, url, token, reason) => {
  const address = await url();
  const { answers, code } = await pass([NOTIFICATION, LIST, LIST.replace('7', '8')], address, token());
  const message = expect.stringContaining(`The connector at ${address} did not answer: ${reason}`);
  const error = { code: -32_603, message };
  expect(answers).toHaveLength(2);
  expect(answers).toEqual(expect.arrayContaining([7, 8].map((id) => ({ jsonrpc: '2.0', id, error }))));
  expect(code).toBe(0);
});
