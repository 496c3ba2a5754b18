import { describe, expect, it } from 'vitest';
import { readSources, TESTS } from './source-files.ts';

/** A wait in real time. */
const WAITS = /\b(?:setTimeout|setInterval)\s*\(|\bsystemClock\s*\.\s*sleep\s*\(|\bAtomics\s*\.\s*wait\b/g;

/** Files outside the campaigns that wait in real time, and why. */
const REASONS: Readonly<Record<string, string>> = {
  // Parts of the campaigns, which run in real time.
  'test/support/crashing-connector.ts': 'kills at random moments',
  'test/support/crm-sender.ts': 'a CRM that sends at a pace',
  'test/support/follow-feed.ts': 'a reader that comes back',
  'test/support/dependency-outages.ts': 'paced measurements',
  'test/support/hostile-client.ts': 'a paced hostile client',
  'test/support/containers/engine.ts': 'asks an engine until it answers',
  // Other programs do not report when they are ready.
  'test/support/haproxy.ts': 'asks the proxy until all servers are up',
  'test/support/pgbouncer.ts': 'connects until the pooler listens',
  'test/support/postgres-pair.ts': 'real servers that catch up, which tell nobody',
  'test/support/read-connector.ts': 'reads until no send is open',
  'test/package/containers.test.ts': 'writes at a pace while processes are replaced',
  // The test is about real time.
  'packages/conformance/test/broken-courier.ts': 'a sender with a timeout of a second',
  'packages/certify/test/integration-gallery.test.ts': 'the clock of a service, which waits in real time',
  'packages/certify/test/own-integration.test.ts': 'the clock of a loop, which advances by itself',
  'packages/console/test/shell.test.tsx': 'a limit of the browser, in the time of the test',
  'test/runtime/clock/system-clock.test.ts': 'the system clock itself',
  'test/runtime/http-server/http-server.test.ts': 'a client that sends a byte periodically',
  'test/runtime/lifecycle/signal-fixture.ts': 'a process that waits for a signal',
  'test/testing/use-shared-server.ts': 'a process that waits for a signal',
};

const waiting = readSources(...TESTS)
  .filter(({ path }) => !path.startsWith('test/campaign/'))
  .filter(({ code }) => code.match(WAITS) !== null)
  .map(({ path }) => path);

describe('outside the campaigns', () => {
  it('only the listed files wait in real time, each with a reason', () => {
    expect(waiting.sort()).toEqual(Object.keys(REASONS).sort());
  });
});
