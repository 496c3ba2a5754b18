import { randomBytes } from 'node:crypto';
import { type Loop, type LoopOptions, startLoop } from '../../src/commands/loop.ts';
import { portsFrom } from '../../src/commands/ports.ts';
import { systemClock } from '../../src/runtime/clock/system-clock.ts';
import { generateSealingKey } from '../../src/runtime/sealing/key-ring.ts';
import { createTestDatabase, type TestDatabase } from './database.ts';
import { createLoopClient, type LoopClient } from './loop-client.ts';
import { silentLogger } from './platform.ts';
import { type Caller, createCaller } from './read-lists.ts';

/** The whole loop on a database of its own. */
export interface TestLoop {
  readonly loop: Loop;
  readonly client: LoopClient;
  readonly connectorUrl: string;
  readonly connectorToken: string;
  /** Calls the control API of the sandbox. */
  readonly sandbox: Caller;
  /** Calls the service with the key of the workspace that it begins with. */
  readonly service: Caller;
  /** Calls the connector's own API. */
  readonly connector: Caller;
  close(): Promise<void>;
}

/** What `startLoop` takes, with a quick service and a poll that no test waits for. */
export function loopOptions(
  database: Pick<TestDatabase, 'url'>,
  options: Partial<LoopOptions> = {},
): LoopOptions {
  return {
    connectorDatabaseUrl: database.url,
    platformDatabaseUrl: database.url,
    ports: portsFrom(0),
    secrets: {
      connectorToken: randomBytes(24).toString('base64url'),
      sealingKey: generateSealingKey(),
    },
    sendScale: 0,
    reconcileIntervalMs: 60_000,
    inboxRetentionDays: 30,
    onTakenOver: () => undefined,
    clock: systemClock,
    logger: silentLogger,
    ...options,
  };
}

/** Starts the loop that `npm start` runs, in this process. */
export async function startTestLoop(options: Partial<LoopOptions> = {}): Promise<TestLoop> {
  const database = await createTestDatabase({ connector: true, platform: true });
  const loop = await startLoop(loopOptions(database, options));
  const { sandboxUrl, baseUrl, apiKey, connectorUrl, connectorToken } = loop.info();
  if (connectorUrl === null || connectorToken === null) throw new Error('the loop has no connector');
  return {
    loop,
    client: createLoopClient(loop.info()),
    connectorUrl,
    connectorToken,
    sandbox: createCaller(`${sandboxUrl}/sandbox/v1`),
    service: createCaller(baseUrl, apiKey),
    connector: createCaller(connectorUrl, connectorToken),
    async close() {
      await loop.close();
      await database.drop();
    },
  };
}
