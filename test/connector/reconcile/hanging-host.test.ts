import { afterEach, beforeEach, expect, it } from 'vitest';
import { addAccount } from '../../../src/connector/accounts/add-account.ts';
import { createReconciler, type Reconciler } from '../../../src/connector/reconcile/reconciler.ts';
import { ManualNotifier } from '../support/manual-notifier.ts';
import { openPollBench, type PollBench } from '../support/poll-bench.ts';
import { ScriptedService } from '../support/scripted-service.ts';

const INTERVAL_MS = 45_000;
const HANGING = 60;
const HEALTHY = 3;

let bench: PollBench;
let healthy: ScriptedService;
let reconciler: Reconciler;

beforeEach(async () => {
  bench = await openPollBench();
  healthy = await ScriptedService.start();
  reconciler = createReconciler({ ...bench.poller, notifier: new ManualNotifier(), intervalMs: INTERVAL_MS });
});
afterEach(async () => {
  // What hangs ends with its service.
  await bench.service.close();
  await reconciler.close();
  await healthy.close();
  await bench.close();
});

/** Accounts of a service whose list has three pages. */
async function add(service: ScriptedService, count: number): Promise<string[]> {
  service.addConnection('c1');
  service.pageSize = 1;
  service.addMessages('c1', 3, (index) => bench.clock.now() - index * 60_000);
  const ids: string[] = [];
  for (let index = 0; index < count; index += 1) {
    const apiKey = `${service.baseUrl} ${index}`;
    service.apiKeys.add(apiKey);
    ids.push(await addAccount(bench.poller, { baseUrl: service.baseUrl, apiKey, publicOnly: false }));
  }
  return ids;
}

it('accounts whose walks hang at one host leave those of another polled in each period', async () => {
  await add(bench.service, HANGING - 1);
  const ids = await add(healthy, HEALTHY);
  bench.service.fault = ({ query }) => (query.has('cursor') ? 'hang' : undefined);
  const gate = Promise.withResolvers<void>();
  healthy.onRequest = () => gate.promise;
  /** Whether each healthy account had a good poll since then. */
  const areGood = async (since: number): Promise<boolean> => {
    const [row] = await bench.database.query<{ good: number }>(
      'select count(*) as good from connector.poll_states where account_id = any($1::text[]) and last_good_at >= $2::bigint',
      [ids, since],
    );
    return row?.good === HEALTHY;
  };
  const begun = bench.clock.now();
  await reconciler.start();
  void reconciler.settle();
  // All places for walks that a host may have are taken before the other host answers.
  while (bench.service.countRequests('/messages') < HANGING + 16) await bench.database.query('select 1');
  gate.resolve();
  while (!(await areGood(begun)));
  expect(bench.service.requests.filter(({ query }) => query.has('cursor'))).toHaveLength(16);
  // The next poll is due a period after the process has noted that this one is stored, when time may have passed already.
  for (let elapsed = 0; elapsed < 2 * INTERVAL_MS && !(await areGood(begun + 1)); elapsed += 5_000)
    await bench.clock.advance(5_000);
  while (!(await areGood(begun + 1)));
});
