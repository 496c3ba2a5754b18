import { createHash } from 'node:crypto';
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { runExport } from '../../src/commands/run-export.ts';
import { type ExportPage, writeExport } from '../../src/commands/write-export.ts';
import { listen } from '../support/listen.ts';
import { loopOfFile } from '../support/loop-of-file.ts';
import { makeFolder } from '../support/make-folder.ts';
import { runInProcess } from '../support/run-in-process.ts';

const test = loopOfFile();
let folder: string;
let file: string;

beforeEach(() => {
  folder = makeFolder();
  file = join(folder, 'all.jsonl');
  vi.stubEnv('CONNECTOR_API_TOKEN', test.connectorToken);
});
afterEach(() => void vi.unstubAllEnvs());

const lines = (): unknown[] =>
  readFileSync(file, 'utf8')
    .split('\n')
    .flatMap((line) => (line === '' ? [] : [JSON.parse(line)]));
const sha256 = (): string => createHash('sha256').update(readFileSync(file)).digest('hex');

const run = (...words: readonly string[]) =>
  runInProcess(runExport, [...words, '--connector', test.connectorUrl]);

describe('npm run export', () => {
  it('writes what the API lists, with its checksum', async () => {
    const { client, loop, connectorUrl } = test;
    const connectionId = await client.qrConnection();
    for (const text of ['one', 'two\nlines', 'three ünï'])
      await test.sandbox('POST', '/contacts/447700900201/messages', { connectionId, text });
    await test.sandbox('POST', '/contacts/447700900202/messages', { connectionId, text: 'of another' });
    await loop.settle();
    const ask = (path: string) =>
      fetch(`${connectorUrl}${path}`, { headers: { authorization: `Bearer ${test.connectorToken}` } });

    const { stdout, code } = await run('messages', '--out', file);
    const { messages } = (await (await ask('/v1/messages')).json()) as { messages: unknown[] };
    expect(messages).toHaveLength(4);
    expect(lines()).toEqual(messages);
    expect(stdout).toBe(`4 messages in ${file}, ${readFileSync(file).length} bytes, sha256 ${sha256()}\n`);
    expect(statSync(file).mode & 0o077).toBe(0);
    expect(readFileSync(`${file}.sha256`, 'utf8')).toBe(`${sha256()}  all.jsonl\n`);
    expect([code, existsSync(`${file}.progress`)]).toEqual([0, false]);

    rmSync(file);
    expect(JSON.parse((await run('changes', '--out', file, '--json')).stdout)).toMatchObject({
      sha256: sha256(),
    });
    const { changes } = (await (await ask('/v1/changes?after=0')).json()) as { changes: unknown[] };
    expect(lines()).toEqual(changes);

    rmSync(file);
    const one = await run('messages', '--out', file, '--person', '447700900202');
    expect(one.stdout).toMatch(/^1 message in /);

    rmSync(file);
    const none = await run('messages', '--out', file, '--connection', 'c-another');
    expect(none.stdout).toMatch(/^0 messages in /);

    rmSync(file);
    await run('messages', '--out', file, '--person', '+44 (7700) 900-201');
    expect(lines()).toMatchObject(['three ünï', 'two\nlines', 'one'].map((text) => ({ text })));
  });

  it('says at every 10,000 entries how many it has', async () => {
    await test.client.arrival(await test.client.write(await test.client.qrConnection(), 'one of many'));
    const list = await test.connector<{ messages: unknown[] }>('GET', '/v1/messages?limit=1');
    const messages = Array.from({ length: 1_000 }, () => list.messages[0]);
    const connector = await listen(({ url = '' }, response) => {
      const page = Number(new URL(url, 'http://connector').searchParams.get('cursor') ?? 1);
      const nextCursor = page < 21 ? String(page + 1) : null;
      response.end(JSON.stringify({ ...list, messages, nextCursor, hasMore: nextCursor !== null }));
    });
    const words = ['messages', '--out', file, '--connector', connector.url];
    const { stdout, stderr } = await runInProcess(runExport, words);
    await connector.drain(0);
    expect(stderr).toBe('');
    expect(stdout).toMatch(/^10000 messages\n20000 messages\n21000 messages in .+\n$/);
  });

  it.each([
    [['messages'], '--out is missing'],
    [['messages', '--out', ''], '--out is missing'],
    [['contacts', '--out', 'x'], '"contacts" cannot be exported, only messages or changes.'],
    [['changes', '--out', 'x', '--person', '1'], '--person selects messages'],
    [['messages', '--out', 'x', '--token-file', '/nowhere'], '--token-file cannot be read'],
  ])('refuses %j and says what is wrong', async (words, reason) => {
    expect(await run(...words)).toMatchObject({ code: 2, stderr: expect.stringContaining(reason) });
  });

  it('names the reason of a refusal by the connector', async () => {
    vi.stubEnv('CONNECTOR_API_TOKEN', 'another-token-0123456789');
    const { code, stderr } = await run('messages', '--out', file);
    expect({ code, stderr }).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('does not accept the token'),
    });
  });
});

describe('an export', () => {
  const pages: Readonly<Record<string, ExportPage>> = {
    start: { entries: [{ n: 1 }, { n: 2 }], next: 'b' },
    b: { entries: [{ n: 3 }], next: 'c' },
    c: { entries: [{ n: 4 }], next: null },
  };
  const asked: (string | null)[] = [];
  beforeEach(() => void asked.splice(0));
  /** Reads these pages, and fails at one of them. */
  const write = (failsAt?: string, subject: object = { what: 'messages' }) =>
    writeExport({
      file,
      subject,
      readPage: async (cursor) => {
        asked.push(cursor);
        if ((cursor ?? 'start') === failsAt) throw new Error('the connector is gone');
        return pages[cursor ?? 'start'] ?? expect.fail(`no page ${cursor}`);
      },
    });

  it('continues where it was interrupted, also in the middle of a page', async () => {
    await expect(write('c')).rejects.toThrow('the connector is gone');
    expect(statSync(`${file}.progress`).mode & 0o077).toBe(0);
    // What a process that was killed had written of the next page.
    writeFileSync(file, '{"n":4', { flag: 'a' });
    asked.splice(0);
    expect(await write()).toEqual({ entries: 4, bytes: 32, sha256: sha256() });
    expect(asked).toEqual(['c']);
    expect(lines()).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }, { n: 4 }]);
  });

  it('begins again if nothing of it was written, as after a refusal', async () => {
    await expect(write('start', { what: 'messages', url: 'http://mistyped' })).rejects.toThrow();
    await expect(write('start')).rejects.toThrow('the connector is gone');
    expect(await write()).toMatchObject({ entries: 4 });
  });

  it('begins again if its file was deleted', async () => {
    await expect(write('b')).rejects.toThrow();
    rmSync(file);
    expect(await write()).toMatchObject({ entries: 4 });
    expect(lines()).toHaveLength(4);
  });

  it('overwrites no other file, and continues no other export', async () => {
    await expect(write('b')).rejects.toThrow();
    await expect(write(undefined, { what: 'changes' })).rejects.toThrow('an export of something else');
    rmSync(`${file}.progress`);
    await expect(write()).rejects.toThrow(`${file} exists. Pass another file, or delete it.`);
    expect(lines()).toEqual([{ n: 1 }, { n: 2 }]);
  });
});
