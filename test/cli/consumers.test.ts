import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { runConsumers } from '../../src/commands/run-consumers.ts';
import type { Change } from '../../src/contract/connector/changes.ts';
import { changeConsumerRequest } from '../../src/contract/connector/consumers.ts';
import { findFreePort } from '../support/find-free-port.ts';
import { listen } from '../support/listen.ts';
import { loopOfFile } from '../support/loop-of-file.ts';
import { makeFolder } from '../support/make-folder.ts';
import { runInProcess } from '../support/run-in-process.ts';

const ADDRESS = 'https://93.184.215.14/changes';
const test = loopOfFile({ handlers: { onChange: () => undefined } });

beforeEach(() => {
  vi.stubEnv('CONNECTOR_API_TOKEN', test.connectorToken);
});
afterEach(async () => {
  vi.unstubAllEnvs();
  vi.stubEnv('CONNECTOR_API_TOKEN', test.connectorToken);
  await run('delete', 'crm');
  vi.unstubAllEnvs();
});

function run(...words: readonly string[]) {
  const at = words.includes('--connector') ? [] : ['--connector', test.connectorUrl];
  return runInProcess(runConsumers, [...words, ...at]);
}

/** What it prints. */
async function told(...words: string[]): Promise<string> {
  const { code, stdout, stderr } = await run(...words);
  expect({ code, stderr }, words.join(' ')).toEqual({ code: 0, stderr: '' });
  return stdout;
}

// biome-ignore lint/suspicious/noExplicitAny: answers are looked into by field
const json = async (...words: string[]): Promise<any> => JSON.parse(await told(...words, '--json'));

describe('npm run consumers', () => {
  it('creates a consumer, and prints its secret once', async () => {
    const text = await told(
      'create',
      'crm',
      '--url',
      ADDRESS,
      '--batch',
      '20',
      '--types',
      'message.created,message.status',
    );
    expect(text).toMatch(/^name +crm$/m);
    expect(text).toMatch(/^kind +http$/m);
    expect(text).toMatch(/^state +running$/m);
    expect(text).toMatch(/^behind +\S/m);
    expect(text).toMatch(/^filter +\{"types":\["message.created","message.status"\]\}$/m);
    expect(text).toMatch(/^batch +20$/m);
    expect(text).toMatch(/^secret {2}whsec_\S+\nStore it now: it is not shown again\.$/m);
    expect(await told('show', 'crm')).not.toContain('whsec_');
    expect(await told('list')).toMatch(
      /^crm +http +running .+ 0 parked +0 dead letters\nhandler +handler +running/,
    );
  });

  it('says why a consumer is disabled', async () => {
    const { consumer } = await json('create', 'crm', '--url', ADDRESS);
    const disabled = { ...consumer, state: 'disabled', disabledReason: 'the consumer answered 410' };
    const connector = await listen((_request, response) => void response.end(JSON.stringify(disabled)));
    const shown = await told('show', 'crm', '--connector', connector.url);
    await connector.drain(0);
    expect(shown).toMatch(/^state +disabled: the consumer answered 410$/m);
  });

  it('says since when a consumer is unavailable, and why', async () => {
    const { consumer } = await json('create', 'crm', '--url', ADDRESS);
    const unavailable = { since: '2026-01-15T12:00:00.000Z', lastError: 'EndpointError ECONNREFUSED: x' };
    const away = { ...consumer, unavailable };
    const connector = await listen(
      (request, response) =>
        void response.end(
          JSON.stringify(
            request.url?.includes('/crm') ? away : { consumers: [away], nextCursor: null, hasMore: false },
          ),
        ),
    );
    const shown = await told('show', 'crm', '--connector', connector.url);
    const listed = await told('list', '--connector', connector.url);
    await connector.drain(0);
    expect(shown).toMatch(/^unavailable +since 2026-01-15T12:00:00\.000Z: EndpointError ECONNREFUSED: x$/m);
    expect(listed).toMatch(/^crm +http +unavailable /);
  });

  it('prints what the API answers with --json', async () => {
    const created = await json('create', 'crm', '--url', ADDRESS, '--from', 'beginning', '--ordered', 'no');
    expect(created).toMatchObject({
      consumer: { name: 'crm', kind: 'http', ordered: false },
      secret: expect.stringMatching(/^whsec_/),
    });
    expect((await json('list')).consumers.map(({ name }: { name: string }) => name)).toEqual([
      'crm',
      'handler',
    ]);
    const changes =
      '--attempts 3 --batch 4 --concurrency 5 --deadline-ms 600 --place-changes 7 --place-ms 80';
    expect(await json('change', 'crm', ...changes.split(' '), '--historic', 'skip')).toMatchObject({
      ...{ attempts: 3, batch: 4, concurrency: 5, deadlineMs: 600, placeChanges: 7, placeMs: 80 },
      ...{ historic: 'skip', ordered: false },
    });
    expect(await json('pause', 'crm')).toMatchObject({ state: 'paused' });
    expect(await json('replay', 'crm', '1')).toMatchObject({ state: 'paused' });
    expect(await json('replay', 'crm', '2026-01-01T00:00:00Z')).toMatchObject({ name: 'crm' });
    expect(await json('resume', 'crm')).toMatchObject({ state: 'running' });
    expect(await json('rotate-secret', 'crm')).toMatchObject({ previousSecretUntil: expect.any(String) });
    expect(await json('rotate-secret', 'crm', '--compromised')).toMatchObject({ previousSecretUntil: null });
    expect(await json('delete', 'crm')).toEqual({ ok: true });
  });

  it('changes one list of a filter, and leaves the others', async () => {
    await json('create', 'crm', '--url', ADDRESS, '--connections', 'c1', '--types', 'message.created');
    const { filter } = await json('change', 'crm', '--types', 'message.created, message.status');
    expect(filter).toEqual({ connectionIds: ['c1'], types: ['message.created', 'message.status'] });
    expect((await json('change', 'crm', '--connections', 'all', '--batch', '2')).filter).toEqual({
      types: ['message.created', 'message.status'],
    });
    expect((await json('change', 'crm', '--batch', '3')).filter).toHaveProperty('types');
    expect((await json('change', 'crm', '--types', 'all')).filter).toEqual({});
  });

  it('lists what a consumer failed to process, and replays it, oldest first', async () => {
    let status = 500;
    const taken: string[] = [];
    const crm = await listen((request, response) => {
      if (status === 200) taken.push(String(request.headers['webhook-id']));
      response.writeHead(status).end();
    });
    onTestFinished(() => crm.drain(0));
    await json('create', 'crm', '--url', crm.url, '--attempts', '1', '--types', 'message.created');
    expect(await told('dead-letters', 'crm')).toBe('no dead letters\n');
    const connectionId = await test.client.qrConnection();
    for (const text of ['First', 'Second']) await test.client.write(connectionId, text);
    await test.loop.settle();
    const { deadLetters } = await json('dead-letters', 'crm');
    expect(deadLetters.map(({ change }: { change: Change }) => change)).toMatchObject([
      { data: { text: 'First' } },
      { data: { text: 'Second' } },
    ]);
    expect(await told('dead-letters', 'crm')).toMatch(
      /^\S+-crm +message\.created +1 failed +\S.*\n\S+-crm +message\.created/,
    );
    status = 200;
    expect(await told('replay-dead-letters', 'crm')).toBe('2 dead letters handed over again.\n');
    await test.loop.settle();
    expect(taken).toEqual(deadLetters.map(({ id }: { id: string }) => id));
    expect(await told('dead-letters', 'crm')).toBe('no dead letters\n');
  });

  it('ends with 1 and the reason of the connector', async () => {
    for (const subcommand of ['show', 'dead-letters'])
      expect(await run(subcommand, 'nobody')).toEqual({
        code: 1,
        stdout: '',
        stderr: 'not_found: No consumer with this id.\n',
      });
  });

  it.each([
    [['create', 'crm'], 'Pass either --url (kind http) or --queue (kind bullmq). See --help.\n'],
    [
      ['create', 'crm', '--url', ADDRESS, '--queue', 'q'],
      'Pass either --url (kind http) or --queue (kind bullmq). See --help.\n',
    ],
    [['create', 'crm', '--url', ADDRESS, '--batch', 'many'], '--batch must be a number, not "many".\n'],
    [['create', 'crm', '--url', ADDRESS, '--ordered', '1'], '--ordered must be yes or no, not "1".\n'],
    [
      ['create', 'crm', '--queue', 'q', '--redis-url-file', '/nowhere/file'],
      '--redis-url-file cannot be read: ',
    ],
    [['change', 'crm'], 'Pass a setting to change. See --help.\n'],
    [['replay', 'crm'], '<from> is missing: '],
    [['dance'], 'There is no subcommand "dance".\n'],
    [
      ['list', '--connector', 'here'],
      '--connector must be an address such as https://connector.example.com, not "here".\n',
    ],
  ])('ends with 2 for a wrong command line: %j', async (words, reason) => {
    expect(await run(...words)).toEqual({ code: 2, stdout: '', stderr: expect.stringContaining(reason) });
  });

  it('reads the address of a Redis from a file, so that no command line contains its password', async () => {
    const folder = makeFolder();
    const port = await findFreePort();
    writeFileSync(join(folder, 'redis'), `redis://:word@127.0.0.1:${port}\n`);
    expect(
      await run('create', 'crm', '--queue', 'q', '--redis-url-file', join(folder, 'redis')),
    ).toMatchObject({
      code: 1,
      stderr: `redis_unreachable: --redis-url-file: Redis at 127.0.0.1:${port} does not answer; see the log.\n`,
    });
    expect((await run('create', 'crm', '--queue', 'q')).stderr).toContain('--redis-url-file: is missing');
  });

  it('says who does not answer, or does not accept the token', async () => {
    const port = await findFreePort();
    expect(await run('list', '--connector', `http://127.0.0.1:${port}`)).toMatchObject({
      code: 1,
      stderr: `No connector answers at http://127.0.0.1:${port} (ECONNREFUSED). Is --connector its address?\n`,
    });
    for (const [status, why] of [
      [200, 'is not a connector of this version: it returned status 200.'],
      [307, `redirects to ${test.connectorUrl}. Is --connector its address?`],
    ] as const) {
      const headers = { location: `${test.connectorUrl}/v1/consumers` };
      const other = await listen((_, response) => void response.writeHead(status, headers).end('hello'));
      onTestFinished(() => other.drain(0));
      expect((await run('list', '--connector', other.url)).stderr).toBe(
        `The server at ${other.url} ${why}\n`,
      );
    }
    vi.stubEnv('CONNECTOR_API_TOKEN', 'a-wrong-token');
    expect((await run('list')).stderr).toBe(
      `The connector at ${test.connectorUrl} does not accept the token. Use its CONNECTOR_API_TOKEN, or one of its CONNECTOR_API_TOKENS.\n`,
    );
    vi.stubEnv('CONNECTOR_API_TOKEN', 'first-token\nsecond-token');
    expect(await run('list')).toMatchObject({
      code: 2,
      stderr: 'CONNECTOR_API_TOKEN is no token: it contains white space, or a character that is not ASCII.\n',
    });
    vi.stubEnv('CONNECTOR_API_TOKEN', '');
    expect((await run('list')).stderr).toContain('The token is missing');
  });

  it('has an option for each setting that a consumer can be changed by', async () => {
    const { stdout } = await run('change', '--help');
    const { filter, redisUrl, ...settings } = changeConsumerRequest.shape;
    const named = [...Object.keys(settings), 'types', 'directions', 'connections', 'redis-url-file'];
    for (const name of named)
      expect(stdout).toContain(`--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)} `);
  });
});
