import { describe, expect, it } from 'vitest';
import type { ConnectorMessageList } from '../../../src/contract/connector/messages.ts';
import { systemClock } from '../../../src/runtime/clock/system-clock.ts';
import { startTestLoop } from '../../../test/support/loop.ts';
import { ofFile } from '../../../test/support/of-file.ts';
import { PROFILES } from '../src/receiver/profile.ts';
import { runReceiverSuite } from '../src/receiver/run-receiver-suite.ts';
import { createObserver } from '../src/runner/observer.ts';

const SECRET = 'whsec_b3VyLW93bi1zZWNyZXQ=';

describe('the connector, graded like any other receiver', () => {
  const loop = ofFile(() => startTestLoop({ webhookSecret: SECRET }));

  it('passes levels W and E', async () => {
    const { results, verdict } = await runReceiverSuite({
      inputs: {
        url: `${loop.connectorUrl}/webhooks/messaging`,
        secret: SECRET,
        oldSecret: 'whsec_b2xkZXI=',
        profile: PROFILES.messaging,
        observer: createObserver(
          async () => await loop.connector<ConnectorMessageList>('GET', '/v1/messages?limit=1000'),
        ),
      },
      tiers: ['W', 'E'],
      clock: systemClock,
      signal: new AbortController().signal,
    });
    expect(results.filter(({ result }) => result !== 'pass').map(({ id, unlock }) => [id, unlock])).toEqual([
      ['effects.killed', '--restart-command'],
    ]);
    expect(verdict).toBe('conforms');
  });
});
