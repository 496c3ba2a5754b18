import { onTestFinished } from 'vitest';
import { type Loop, startLoop } from '../../src/cli/loop.ts';
import { portsFrom } from '../../src/cli/ports.ts';
import { createLogger } from '../../src/runtime/logger/logger.ts';
import { generateSealingKey } from '../../src/runtime/sealing/key-ring.ts';
import { type Caller, createCaller, readAllMessages } from './call-json.ts';
import type { MessageState } from './check-invariants.ts';
import { createTestDatabase } from './database.ts';
import { createShiftedClock, type ShiftedClock } from './shifted-clock.ts';

/** The whole loop on databases of its own, driven over HTTP alone. */
export interface TestLoop {
  readonly clock: ShiftedClock;
  readonly connectorDatabaseUrl: string;
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
export async function startTestLoop(): Promise<TestLoop> {
  const clock = createShiftedClock();
  const [connectorDatabase, platformDatabase] = await Promise.all([
    createTestDatabase({ connector: true }),
    createTestDatabase({ platform: true }),
  ]);
  onTestFinished(async () => void (await Promise.all([connectorDatabase.drop(), platformDatabase.drop()])));
  const connectorToken = 'token-of-a-test-loop';
  const loop: Loop = await startLoop({
    connectorDatabaseUrl: connectorDatabase.url,
    platformDatabaseUrl: platformDatabase.url,
    ports: portsFrom(0),
    secrets: { connectorToken, sealingKey: generateSealingKey() },
    sendScale: 0,
    reconcileIntervalMs: LONGEST_INTERVAL_MS,
    inboxRetentionDays: 30,
    onTakenOver: () => undefined,
    clock,
    logger: createLogger({ level: 'silent', name: 'test' }),
  });
  onTestFinished(() => loop.close());
  const { connectorUrl, sandboxUrl, baseUrl, apiKey } = loop.info();
  if (connectorUrl === null) throw new Error('the loop has no connector');

  const connector = createCaller(connectorUrl, connectorToken);
  const service = createCaller(baseUrl, apiKey);
  return {
    clock,
    connectorDatabaseUrl: connectorDatabase.url,
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
