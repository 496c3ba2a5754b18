import { type Loop, type LoopOptions, startLoop } from '../../src/commands/loop.ts';
import { loopOptions } from '../../src/testing/loop-options.ts';
import { createTestDatabase } from './database.ts';
import { createLoopClient, type LoopClient } from './loop-client.ts';
import { type Caller, createCaller } from './read-lists.ts';

/** The whole loop on its own database. */
export interface TestLoop {
  readonly loop: Loop;
  readonly client: LoopClient;
  readonly connectorUrl: string;
  readonly connectorToken: string;
  /** The database of both halves. */
  readonly databaseUrl: string;
  /** Calls the control API of the sandbox. */
  readonly sandbox: Caller;
  /** Calls the service with the key of the initial workspace. */
  readonly service: Caller;
  /** Calls the connector's own API. */
  readonly connector: Caller;
  close(): Promise<void>;
}

/** Starts the loop that `npm start` runs, in this process. */
export async function startTestLoop(options: Partial<LoopOptions> = {}): Promise<TestLoop> {
  const database = await createTestDatabase({ connector: true, platform: true });
  const loop = await startLoop(loopOptions(database.url, options));
  const { sandboxUrl, baseUrl, apiKey, connectorUrl, connectorToken } = loop.info();
  if (connectorUrl === null || connectorToken === null) throw new Error('the loop has no connector');
  return {
    loop,
    client: createLoopClient(loop.info()),
    connectorUrl,
    connectorToken,
    databaseUrl: database.url,
    sandbox: createCaller(`${sandboxUrl}/sandbox/v1`),
    service: createCaller(baseUrl, apiKey),
    connector: createCaller(connectorUrl, connectorToken),
    async close() {
      await loop.close();
      await database.drop();
    },
  };
}
