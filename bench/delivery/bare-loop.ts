import { createHmac } from 'node:crypto';
import { Pool } from 'undici';
import { systemClock } from '../../src/runtime/clock/system-clock.ts';
import { planEvent, serviceEvent } from '../ingest/service-events.ts';
import { serveParent } from '../process/serve-parent.ts';
import {
  CONCURRENCY,
  type DeliverInput,
  type DeliverResult,
  type SenderCommands,
  type SenderSetup,
} from './senders.ts';

let pool: Pool | undefined;
let secret = '';
let path = '';

async function prepare(setup: SenderSetup): Promise<void> {
  secret = setup.secret;
  path = setup.path;
  pool = new Pool(`http://127.0.0.1:${setup.receiverPort}`, { connections: CONCURRENCY });
}

/** Signs and posts one event after the other on each connection, and nothing else. */
async function deliver({ run, count }: DeliverInput): Promise<DeliverResult> {
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
  await Promise.all(Array.from({ length: CONCURRENCY }, postAll));
  return { delivered, elapsedMs: systemClock.elapsed() - began };
}

async function post(body: Buffer): Promise<boolean> {
  if (pool === undefined) throw new Error('prepare comes first');
  const timestamp = String(systemClock.now());
  const signature = createHmac('sha256', secret).update(`${timestamp}.`).update(body).digest('hex');
  const { statusCode, body: answer } = await pool.request({
    method: 'POST',
    path,
    headers: {
      'content-type': 'application/json',
      'x-service-timestamp': timestamp,
      'x-service-signature': `sha256=${signature}`,
    },
    body,
  });
  await answer.dump();
  return statusCode >= 200 && statusCode < 300;
}

serveParent({ prepare, deliver } satisfies SenderCommands, async () => {
  await pool?.close();
});
