import { onTestFinished } from 'vitest';
import { startLoop } from '../../src/commands/loop.ts';
import type { MessageState } from './check-invariants.ts';
import { createTestDatabase } from './database.ts';
import { loopOptions } from './loop.ts';
import { type Caller, createCaller, readAllMessages } from './read-lists.ts';
import { createShiftedClock, type ShiftedClock } from './shifted-clock.ts';

/** The whole loop, driven and read over HTTP alone. */
export interface CampaignLoop {
  readonly clock: ShiftedClock;
  readonly connectorUrl: string;
  readonly connectorToken: string;
  /** Calls the sandbox's control API. */
  readonly sandbox: Caller;
  /** Calls the service as a client of it. */
  readonly service: Caller;
  /** Calls the connector's own API. */
  readonly connector: Caller;
  /** Resolves when nothing is under way in either half. */
  settle(): Promise<void>;
  /** Every message that the service lists. */
  readServiceMessages(): Promise<MessageState[]>;
  /** Every message that the connector lists. */
  readConnectorMessages(): Promise<MessageState[]>;
}

const LONGEST_INTERVAL_MS = 3_600_000;

/** Starts a loop whose sends take no time and which polls when it is asked to. It ends with the test. */
export async function startCampaignLoop(): Promise<CampaignLoop> {
  const clock = createShiftedClock();
  const database = await createTestDatabase({ connector: true, platform: true });
  onTestFinished(() => database.drop());
  const loop = await startLoop(loopOptions(database, { clock, reconcileIntervalMs: LONGEST_INTERVAL_MS }));
  onTestFinished(() => loop.close());
  const { connectorUrl, connectorToken, sandboxUrl, baseUrl, apiKey } = loop.info();
  if (connectorUrl === null || connectorToken === null) throw new Error('the loop has no connector');

  const connector = createCaller(connectorUrl, connectorToken);
  const service = createCaller(baseUrl, apiKey);
  return {
    clock,
    connectorUrl,
    connectorToken,
    sandbox: createCaller(`${sandboxUrl}/sandbox/v1`),
    service,
    connector,
    settle: () => loop.settle(),
    readServiceMessages: () => readAllMessages(service, '/messages?limit=100'),
    readConnectorMessages: () => readAllMessages(connector, '/v1/messages?limit=1000'),
  };
}
