import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Webhook } from 'standardwebhooks';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { PROFILES } from '../../packages/certify/src/receiver/profile.ts';
import { createObserver } from '../../packages/certify/src/runner/observer.ts';
import { expectConformity } from '../../packages/certify/test/expect-conformity.ts';
import { openHttpSink } from '../../src/connector/consumers/sinks/http-sink.ts';
import type { Sink } from '../../src/connector/consumers/sinks/sink.ts';
import { systemClock } from '../../src/runtime/clock/system-clock.ts';
import { callOf, createdChange, statusChange } from '../connector/consumers/sinks/sink-fixtures.ts';
import { makeFolder } from '../support/make-folder.ts';
import { ROOT } from '../support/root.ts';
import { type SpawnedCommand, spawnCommand } from '../support/spawn-command.ts';

const FILE = join(ROOT, 'examples/http-consumer-python/consumer.py');
const SECRET = 'whsec_c2VjcmV0LW9mLWEtY29uc3VtZXItMDAwMDAwMDAwMDE=';
const isMissing = spawnSync('python3', ['--version']).status !== 0;

describe.skipIf(isMissing)(`consumer.py${isMissing ? ': python3 is not installed' : ''}`, () => {
  let folder: string;
  let consumer: SpawnedCommand;
  let url: string;
  let sinks: Sink[];

  async function start(port = '0'): Promise<void> {
    const env = { CONSUMER_SECRET: SECRET, CONSUMER_DATABASE: join(folder, 'crm.sqlite'), PORT: port };
    consumer = spawnCommand('python3', [FILE], { cwd: folder, env });
    url = (await consumer.said(/^receiving at /)).replace('receiving at ', '');
  }

  function open(options: { readonly secret?: string; readonly batched?: boolean } = {}): Sink {
    const sink = openHttpSink({
      url,
      secret: SECRET,
      batched: false,
      concurrency: 50,
      deadlineMs: 30_000,
      clock: systemClock,
      namedHosts: { own: 'http://127.0.0.1:4020' },
      ...options,
    });
    sinks.push(sink);
    return sink;
  }

  function stored(): unknown {
    const database = new DatabaseSync(join(folder, 'crm.sqlite'));
    try {
      return database.prepare('SELECT id, text, status FROM messages ORDER BY id').all();
    } finally {
      database.close();
    }
  }

  beforeEach(async () => {
    folder = makeFolder();
    sinks = [];
    await start();
  });
  afterEach(async () => {
    await Promise.all(sinks.map((sink) => sink.close()));
    await consumer.kill();
  });

  it('stores each message once, however often its change arrives, and keeps the newest status', async () => {
    const [one, batches] = [open(), open({ batched: true })];
    const changes = [
      createdChange(1, 'm1', 'größer 😀'),
      statusChange(2, 'delivered', 'm1'),
      createdChange(3, 'm2', 'second'),
      statusChange(4, 'read', 'm1'),
    ];
    for (const change of changes) expect(await one.call(callOf(change))).toEqual({ kind: 'taken' });
    // The end of the sequence comes again, and so do older changes.
    expect(await batches.call(callOf(...changes.slice(2)))).toEqual({ kind: 'taken' });
    expect(await batches.call(callOf(...changes))).toEqual({ kind: 'taken' });
    expect(stored()).toEqual([
      { id: 'm1', text: 'größer 😀', status: 'read' },
      { id: 'm2', text: 'second', status: 'sent' },
    ]);
  });

  it('lowers no status when a dead letter is replayed late', async () => {
    const sink = open();
    await sink.call(callOf(createdChange(1, 'm1', 'Hello'), statusChange(3, 'read', 'm1')));
    expect(await sink.call(callOf(statusChange(2, 'delivered', 'm1')))).toEqual({ kind: 'taken' });
    expect(stored()).toEqual([{ id: 'm1', text: 'Hello', status: 'read' }]);
  });

  it('keeps a status that is faster than its message, which was a dead letter', async () => {
    const sink = open();
    await sink.call(callOf(statusChange(2, 'read', 'm1')));
    expect(await sink.call(callOf(createdChange(1, 'm1', 'Hello')))).toEqual({ kind: 'taken' });
    expect(stored()).toEqual([{ id: 'm1', text: 'Hello', status: 'read' }]);
  });

  it('accepts a genuine request for five minutes, and no changed one', () => {
    const at = 1_768_478_400;
    const text = JSON.stringify({ key: 'k', attempt: 1, change: createdChange(1, 'm1', 'größer 😀') });
    const headers = {
      'webhook-id': 'k',
      'webhook-timestamp': String(at),
      'webhook-signature': new Webhook(SECRET).sign('k', new Date(at * 1_000), text),
    };
    const body = Buffer.from(text).toString('base64');
    const one = { secret: SECRET, headers, body, now: at + 299 };
    const changed = [
      { secret: SECRET.replace('c2V', 'AAA') },
      { body: Buffer.from(`${text} `).toString('base64') },
      { now: at + 301 },
      { now: at - 301 },
      { headers: { ...headers, 'webhook-id': 'another' } },
      { headers: { ...headers, 'webhook-timestamp': '1e9' } },
      { headers: { ...headers, 'webhook-signature': '' } },
      { headers: {} },
    ];
    const { stdout, stderr } = spawnSync(
      'python3',
      [join(import.meta.dirname, 'verify-requests.py'), join(ROOT, 'examples/http-consumer-python')],
      { input: JSON.stringify([one, ...changed.map((change) => ({ ...one, ...change }))]) },
    );
    expect(String(stderr)).toBe('');
    expect(JSON.parse(String(stdout))).toEqual([true, ...changed.map(() => false)]);
  });

  it('passes certify, whose observer reads its database, and which kills it and takes its table away', async () => {
    const [profile, { port }] = [PROFILES['standard-webhooks'], new URL(url)];
    const rename = (from: string, to: string): void => {
      const database = new DatabaseSync(join(folder, 'crm.sqlite'));
      database.exec(`ALTER TABLE ${from} RENAME TO ${to}`);
      database.close();
    };
    const judged = await expectConformity({
      ...{ url, secret: SECRET, profile, batch: 100, observer: createObserver(async () => stored()) },
      async restart() {
        await consumer.kill();
        await start(port);
      },
      storage: async (action) =>
        action === 'stop' ? rename('messages', 'elsewhere') : rename('elsewhere', 'messages'),
    });
    expect(judged).toBe(20);
  });
});
