import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/runtime/clock/system-clock.ts';
import { generateSealingKey } from '../../src/runtime/sealing/key-ring.ts';
import { type ConnectorProcess, prepareConnector } from '../support/connector-process.ts';
import { createTestDatabase } from '../support/database.ts';
import { findFreePort } from '../support/find-free-port.ts';
import { planLoad } from '../support/load-plan.ts';
import { createLoadSender } from '../support/load-sender.ts';
import { readStoredState } from '../support/read-connector.ts';

const REPLICAS = 4;
const KILLED = 2;
/** The migrations of an empty database take much longer. */
const KILLED_AFTER_MS = 60;
const SECRET = 'whsec_of_a_campaign';

test('four replicas started at the same time on an empty database serve, although two more are killed during the migrations', async () => {
  const database = await createTestDatabase();
  onTestFinished(() => database.drop());
  const sealingKey = generateSealingKey();
  const prepare = async (): Promise<ConnectorProcess> => {
    const port = await findFreePort();
    const process = prepareConnector({
      databaseUrl: database.url,
      port,
      webhookSecret: SECRET,
      apiToken: 'token-of-a-campaign-for-tests',
      sealingKey,
    });
    onTestFinished(async () => void (await process.kill('SIGKILL')));
    return process;
  };
  const replicas = await Promise.all(Array.from({ length: REPLICAS + KILLED }, prepare));
  await Promise.all(replicas.map((replica) => replica.loaded));

  for (const replica of replicas) replica.go();
  await systemClock.sleep(KILLED_AFTER_MS);
  const killed = replicas.slice(0, KILLED);
  expect(await Promise.all(killed.map((replica) => replica.kill('SIGKILL')))).toEqual(['SIGKILL', 'SIGKILL']);
  for (const { ready } of killed) await expect(ready).rejects.toThrow('SIGKILL');
  const serving = replicas.slice(KILLED);
  await Promise.all(serving.map((replica) => replica.ready));

  const webhooks = serving.map(({ url }) => `${url}/webhooks/messaging`);
  const sender = createLoadSender({ secret: SECRET, clock: systemClock, targets: () => webhooks });
  onTestFinished(() => sender.close());
  const events = planLoad({ seed: 9, messages: 20, startAt: systemClock.now() });
  await sender.run(events, { burst: events.length, everyMs: 0 });
  expect(sender.sent.every(({ acknowledged, attempts }) => acknowledged && attempts.length === 1)).toBe(true);
  expect((await readStoredState(database.url)).messages).toHaveLength(20);
  expect(await Promise.all(serving.map((replica) => replica.kill('SIGTERM')))).toEqual([0, 0, 0, 0]);
  expect(serving.map((replica) => complaintsOf(replica))).toEqual([[], [], [], []]);
});

/** What a process logged at `warn` or above, except that it got no CPU time. */
function complaintsOf(replica: ConnectorProcess): string[] {
  const lines = replica.errors().split('\n');
  return lines.filter((line) => line !== '' && !line.includes('the process got no CPU time'));
}
