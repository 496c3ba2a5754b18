import { createServer, type Socket } from 'node:net';
import { expect, it } from 'vitest';
import { addConsumer } from '../../../src/connector/consumers/consumer-store.ts';
import { serve } from '../../support/serve.ts';
import { ConsumerBench } from './consumer-bench.ts';

it('a process that stops while it opens a consumer closes it again', async () => {
  const bench = await ConsumerBench.open();
  const server = createServer();
  const { port, close } = await serve(server);
  try {
    const settings = { queue: 'crm', prefix: 'changes' };
    await addConsumer(
      bench.database,
      { name: 'crm', kind: 'bullmq', settings, sealedRedisUrl: 'sealed', createdAt: 0 },
      0,
    );
    const [asked, opened] = [Promise.withResolvers<void>(), Promise.withResolvers<string>()];
    const keyRing = {
      open: () => {
        asked.resolve();
        return opened.promise;
      },
    };
    const process = bench.process(null, { keyRing: keyRing as never });
    let connections = 0;
    server.on('connection', (socket: Socket) => {
      connections += 1;
      socket.resume().on('close', () => {
        connections -= 1;
      });
    });
    const started = process.start();
    await asked.promise;
    const closed = process.close();
    opened.resolve(`redis://127.0.0.1:${port}`);
    await Promise.all([started, closed]);
    await expect.poll(() => connections, { timeout: 2_000 }).toBe(0);
  } finally {
    await close();
    await bench.close();
  }
});
