import { createHmac } from 'node:crypto';
import { Pool } from 'undici';
import { systemClock } from '../../src/runtime/clock/system-clock.ts';
import { planEvent, serviceEvent } from '../ingest/service-events.ts';
import { serveParent } from '../process/serve-parent.ts';
import type { SenderCommands, SenderSetup } from './measure-delivery.ts';

let ready: { readonly pool: Pool; readonly setup: SenderSetup } | undefined;

const commands: SenderCommands = {
  async prepare(setup) {
    const pool = new Pool(`http://127.0.0.1:${setup.port}`, { connections: setup.concurrency });
    ready = { pool, setup };
  },
  /** Signs and posts one event after the other on each connection, and nothing else. */
  async deliver({ run, count }) {
    const bodies = Array.from({ length: count }, (_, index) =>
      Buffer.from(JSON.stringify(serviceEvent(planEvent(run, index), index, systemClock.now()))),
    );
    let next = 0;
    let delivered = 0;
    const began = systemClock.elapsed();
    const postAll = async (): Promise<void> => {
      for (let body = bodies[next++]; body !== undefined; body = bodies[next++]) {
        if (await post(body)) delivered++;
      }
    };
    await Promise.all(Array.from({ length: ready?.setup.concurrency ?? 0 }, postAll));
    return { delivered, elapsedMs: systemClock.elapsed() - began };
  },
};

async function post(body: Buffer): Promise<boolean> {
  if (ready === undefined) throw new Error('prepare comes first');
  const { pool, setup } = ready;
  const timestamp = String(systemClock.now());
  const signature = createHmac('sha256', setup.secret).update(`${timestamp}.`).update(body).digest('hex');
  const headers = {
    'content-type': 'application/json',
    'x-service-timestamp': timestamp,
    'x-service-signature': `sha256=${signature}`,
  };
  const { statusCode, body: answer } = await pool.request({
    method: 'POST',
    path: setup.path,
    headers,
    body,
  });
  await answer.dump();
  return statusCode >= 200 && statusCode < 300;
}

serveParent(commands, async () => ready?.pool.close());
