import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/runtime/clock/system-clock.ts';
import { startCampaign } from '../support/campaign.ts';
import { startFaultProxyFor } from '../support/fault-proxy.ts';
import { REDIS_MISSING, startTestRedis } from '../support/redis.ts';

const SEED = 6_379;
const PACE = { burst: 8, everyMs: 25 };
const FAULT_MS = 3_000;
const REDIS_PORT = 6_379;

const title = `events are accepted as usual while Redis is frozen or unreachable${REDIS_MISSING === undefined ? '' : ` (skipped: ${REDIS_MISSING})`}`;
test.skipIf(REDIS_MISSING !== undefined)(title, async () => {
  const redis = await startTestRedis(['--maxmemory-policy', 'noeviction']);
  onTestFinished(() => redis.stop());
  const proxy = await startFaultProxyFor(redis.url, REDIS_PORT);
  onTestFinished(() => proxy.close());
  const campaign = await startCampaign({
    processes: 1,
    spares: 0,
    env: { REDIS_URL: proxy.route(redis.url) },
  });
  const ready = async (): Promise<number> => (await fetch(`${campaign.url}/readyz`)).status;
  expect(await ready()).toBe(200);

  const seen: number[] = [];
  await campaign.underLoad(SEED, PACE, async () => {
    // Readiness is checked at most once a second.
    proxy.freeze();
    await systemClock.sleep(FAULT_MS);
    seen.push(await ready());
    proxy.thaw();
    await proxy.refuse();
    proxy.cut();
    await systemClock.sleep(FAULT_MS);
    seen.push(await ready());
    await proxy.accept();
  });
  expect(seen).toEqual([503, 503]);
  const { sent, acknowledged, retried, broken } = campaign.summarize();
  expect({ acknowledged, retried, broken }).toEqual({ acknowledged: sent, retried: 0, broken: 0 });

  await campaign.catchUp();
  expect(await campaign.findViolations()).toEqual([]);
  expect(await campaign.connectors[0]?.stop()).toBe(0);
});
