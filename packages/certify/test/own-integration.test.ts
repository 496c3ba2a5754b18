import { setTimeout as realTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { portsFrom } from '../../../src/commands/ports.ts';
import type { ConnectorMessageList } from '../../../src/contract/connector/messages.ts';
import { systemClock } from '../../../src/runtime/clock/system-clock.ts';
import { Browser } from '../../../test/support/browser.ts';
import { readEvents } from '../../../test/support/event-reader.ts';
import { findPortBase } from '../../../test/support/find-free-port.ts';
import { startTestLoop, type TestLoop } from '../../../test/support/loop.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { INTEGRATION_CHECKS, runIntegrationSuite } from '../src/integration/run-integration-suite.ts';
import { createObserver } from '../src/runner/observer.ts';

/** The number of the workspace whose owner grants consent at once. */
const NUMBER = '447700900111';
/** The longest wait for an idle loop before time advances. A loop with a held send is idle only afterwards. */
const LONGEST_IDLE_MS = 2_000;
/** The wait while a send is held: still longer than a call takes. */
const HELD_IDLE_MS = 100;
const STEP_MS = 1_000;
/** Nothing reports when the reads behind a pairing stream have ended. */
const PAIRING_STEP_MS = 100;

describe('the connector, graded like any other integration', () => {
  const clock = new ManualClock(systemClock.now());
  let loop: TestLoop;
  let stopTime = (): void => undefined;
  let accountId: string;
  let page: { close(): void } | undefined;
  let connection: { readonly id: string; readonly workspaceId: string };

  beforeAll(async () => {
    // Time advances by itself; a check that waits advances it at once.
    const pump = setInterval(() => void clock.advance(5), 5);
    stopTime = () => clearInterval(pump);
    loop = await startTestLoop({
      clock,
      ports: portsFrom(await findPortBase()),
      reconcileIntervalMs: 45_000,
    });
    const { authorizationUrl } = await loop.connector<{ authorizationUrl: string }>(
      'POST',
      '/v1/accounts/oauth',
    );
    const browser = new Browser();
    await browser.follow(await browser.goOn(authorizationUrl));
    const { accounts } = await loop.connector<{ accounts: { id: string; kind: string }[] }>(
      'GET',
      '/v1/accounts',
    );
    accountId = accounts.find(({ kind }) => kind === 'oauth')?.id ?? '';
    const { entries } = await loop.sandbox<{
      entries: { id: string; workspaceId: string; phoneNumber: string | null }[];
    }>('GET', '/connections?limit=100');
    const found = entries.find(({ phoneNumber }) => phoneNumber === NUMBER);
    if (found === undefined) throw new Error('the owner has no number');
    connection = found;
  });
  afterAll(async () => {
    page?.close();
    await loop.close();
    stopTime();
  });

  let patience = LONGEST_IDLE_MS;
  /** Advances the time of the loop as fast as the loop can follow. */
  const sleep = async (ms: number): Promise<void> => {
    const end = clock.elapsed() + ms;
    while (clock.elapsed() < end) {
      const isHeld = await Promise.race([loop.loop.settle(), realTimeout(patience, true)]);
      patience = isHeld === true ? HELD_IDLE_MS : LONGEST_IDLE_MS;
      await clock.advance(Math.min(page === undefined ? STEP_MS : PAIRING_STEP_MS, end - clock.elapsed()));
    }
  };

  it('passes level I with an OAuth grant', async () => {
    const { results, verdict } = await runIntegrationSuite({
      inputs: {
        sandboxUrl: loop.loop.info().sandboxUrl,
        workspaceId: connection.workspaceId,
        async send({ to, text }) {
          await loop.connector('POST', '/v1/messages', {
            connectionId: connection.id,
            to,
            text,
            reference: to,
          });
        },
        async pair() {
          const { connection: made } = await loop.connector<{ connection: { id: string } }>(
            'POST',
            '/v1/connections',
            { accountId },
          );
          const stream = await readEvents(
            `${loop.connectorUrl}/v1/connections/${made.id}/pairing`,
            (data) => data,
            { authorization: `Bearer ${loop.connectorToken}` },
          );
          page = stream;
          void stream.ended.then(() => {
            page = undefined;
          });
        },
        observer: createObserver(
          async () => await loop.connector<ConnectorMessageList>('GET', '/v1/messages?limit=1000'),
        ),
        oauth: true,
        patient: true,
      },
      clock: {
        now: () => clock.now(),
        elapsed: () => clock.elapsed(),
        after: (ms, run) => clock.after(ms, run),
        sleep,
      },
      signal: new AbortController().signal,
    });
    const outcomes = results.map(({ id, result, reason, actual }) => [id, result, reason ?? actual]);
    expect(outcomes.filter(([, result]) => result !== 'pass')).toEqual([]);
    expect(results).toHaveLength(INTEGRATION_CHECKS.length);
    expect(verdict).toBe('conforms');
  });
});
