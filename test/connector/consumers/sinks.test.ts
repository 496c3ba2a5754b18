import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, expect, it, onTestFinished } from 'vitest';
import { addConsumer } from '../../../src/connector/consumers/consumer-store.ts';
import { consumerRedisContext, consumerSecretContext } from '../../../src/connector/db/sealed-columns.ts';
import { systemClock } from '../../../src/runtime/clock/system-clock.ts';
import { createKeyRing, generateSealingKey } from '../../../src/runtime/sealing/key-ring.ts';
import { REDIS_MISSING, startTestRedis } from '../../support/redis.ts';
import { ROOT } from '../../support/root.ts';
import { spawnCommand } from '../../support/spawn-command.ts';
import { newId } from '../support/event-fixtures.ts';
import { ConsumerBench } from './consumer-bench.ts';

const SECRET = 'whsec_c2VjcmV0LW9mLWEtY29uc3VtZXItMDAwMDAwMDAwMDE=';
const keyRing = createKeyRing([generateSealingKey()]);
const context = { keyRing, serviceHosts: { own: 'http://127.0.0.1:4010/api/v1' }, redisUrl: undefined };
const PYTHON_MISSING = spawnSync('python3', ['--version']).status !== 0;
let bench: ConsumerBench;

beforeAll(async () => {
  bench = await ConsumerBench.open();
});
afterEach(() => bench.stopAll());
afterAll(() => bench.close());

it.skipIf(PYTHON_MISSING)(
  'an endpoint receives each change, signed with the sealed secret of the consumer',
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'consumer-'));
    const file = join(folder, 'crm.sqlite');
    const env = { CONSUMER_SECRET: SECRET, CONSUMER_DATABASE: file, PORT: '0' };
    const python = spawnCommand('python3', [join(ROOT, 'examples/http-consumer-python/consumer.py')], {
      cwd: folder,
      env,
    });
    onTestFinished(async () => {
      await python.kill();
      rmSync(folder, { recursive: true });
    });
    const url = (await python.said(/^receiving at /)).replace('receiving at ', '');
    // The signature has the time of the clock of the test, which the program would refuse.
    bench.clock.jump(systemClock.now() - bench.clock.now());
    const sealedSecret = await keyRing.seal(SECRET, consumerSecretContext('crm'));
    const row = {
      name: 'crm',
      kind: 'http',
      settings: { url, ordered: true },
      sealedSecret,
      batch: 10,
      createdAt: 0,
    } as const;
    expect(await addConsumer(bench.database, row, 0)).toBe(true);
    const process = await bench.running(null, context);
    const [one, two] = [newId(), newId()];
    await bench.tell(one, 'first', 'second');
    await bench.tell(two, 'third');
    await process.settle();
    const database = new DatabaseSync(file);
    onTestFinished(() => database.close());
    const texts = database.prepare('SELECT text FROM messages ORDER BY seq').all();
    expect(texts).toEqual([{ text: 'first' }, { text: 'second' }, { text: 'third' }]);
    await bench.database.query("DELETE FROM connector.consumers WHERE name = 'crm'");
  },
);

it.skipIf(REDIS_MISSING !== undefined)(
  'a queue receives each change, in the Redis of the consumer',
  async () => {
    const redis = await startTestRedis();
    onTestFinished(() => redis.stop());
    const sealedRedisUrl = await keyRing.seal(redis.url, consumerRedisContext('jobs'));
    const row = {
      name: 'jobs',
      kind: 'bullmq',
      settings: { queue: 'crm', prefix: 'bull' },
      sealedRedisUrl,
      createdAt: 0,
    } as const;
    expect(await addConsumer(bench.database, row, (await bench.feed.position()).lastSeq)).toBe(true);
    const process = await bench.running(null, context);
    await bench.tell(newId(), 'first', 'second');
    await process.settle();
    const connection = new Redis(redis.url, { maxRetriesPerRequest: null });
    onTestFinished(() => connection.disconnect());
    const jobs = await new Queue('crm', { connection }).getJobs(['waiting'], 0, -1, true);
    expect(jobs.map(({ data }) => data.change.data.text)).toEqual(['first', 'second']);
    expect(jobs.every(({ id, data }) => id === data.key && data.key.endsWith('-jobs'))).toBe(true);
  },
);
