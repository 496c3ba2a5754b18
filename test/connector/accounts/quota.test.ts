import { expect, it } from 'vitest';
import type { Account } from '../../../src/connector/accounts/account-store.ts';
import { type Quota, refreshQuota } from '../../../src/connector/accounts/quota.ts';
import type { ServiceClient } from '../../../src/connector/service-client/service-client.ts';
import type { Database } from '../../../src/runtime/database/database.ts';
import { createLogger } from '../../../src/runtime/logger/logger.ts';
import { ManualClock } from '../../support/manual-clock.ts';

const MINUTE = 60_000;

it.each([
  ['five minutes ago', -5 * MINUTE, 1],
  ['less than that ago', -5 * MINUTE + 1, 0],
  ['in an hour, by a clock that is ahead', 60 * MINUTE, 1],
])('the slots of an account that were read %s', async (_when, ago, reads) => {
  const clock = new ManualClock();
  let read = 0;
  const client = {
    readAccount: async () => {
      read += 1;
      // Nothing of it can be read, so nothing is stored.
      return { slots: null, connections: null };
    },
  } as unknown as ServiceClient;
  const account = { id: 'account-1', quota: { readAt: clock.now() + ago } as Quota } as Account;
  const logger = createLogger({ level: 'silent', name: 'test' });
  const base = { database: {} as Database, clock, logger };
  await refreshQuota(base, client, account, new AbortController().signal);
  expect(read).toBe(reads);
});
