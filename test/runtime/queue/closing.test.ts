import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { createTestDatabase } from '../../support/database.ts';
import { REDIS_MISSING, startTestRedis } from '../../support/redis.ts';

const fixture = fileURLToPath(new URL('./closing-fixture.ts', import.meta.url));

async function runFixture(
  databaseUrl: string,
  redisUrl = '',
): Promise<{ code: number | null; output: string }> {
  const child = spawn(process.execPath, [fixture, databaseUrl, redisUrl], { stdio: 'pipe', timeout: 20_000 });
  let output = '';
  child.stdout.on('data', (chunk) => {
    output += String(chunk);
  });
  child.stderr.on('data', (chunk) => {
    output += String(chunk);
  });
  const [code] = (await once(child, 'exit')) as [number | null];
  return { code, output };
}

describe('closed queues', () => {
  it('leave nothing behind that keeps the process alive, on Postgres', async () => {
    const database = await createTestDatabase();
    expect(await runFixture(database.url)).toEqual({ code: 0, output: 'closed' });
    await database.drop();
  });

  it.skipIf(REDIS_MISSING !== undefined)(
    'leave nothing behind that keeps the process alive, on Redis',
    async () => {
      const redis = await startTestRedis();
      expect(await runFixture('postgres://not-used', redis.url)).toEqual({ code: 0, output: 'closed' });
      await redis.stop();
    },
  );
});
