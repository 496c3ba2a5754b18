import { portsFrom } from '../../src/commands/ports.ts';
import { type RunningService, type RunServiceOptions, runService } from '../../src/commands/run-service.ts';
import type { SandboxInfo } from '../../src/contract/sandbox/info.ts';
import { systemClock } from '../../src/runtime/clock/system-clock.ts';
import { createTestDatabase } from './database.ts';
import { silentLogger } from './platform.ts';
import { type Caller, createCaller } from './read-lists.ts';

/** The service with its sandbox on its own database, for a connector that runs elsewhere. */
export interface TestService {
  readonly service: RunningService;
  readonly info: SandboxInfo;
  readonly databaseUrl: string;
  /** Calls the control API of the sandbox. */
  readonly sandbox: Caller;
  /** Calls the service with the key of the initial workspace. */
  readonly client: Caller;
  close(): Promise<void>;
}

/** Starts it on free ports, with sends that take no time. */
export async function startTestService(options: Partial<RunServiceOptions> = {}): Promise<TestService> {
  const database = await createTestDatabase({ platform: true });
  const service = await runService({
    databaseUrl: database.url,
    ports: portsFrom(0),
    sendScale: 0,
    onTakenOver: () => undefined,
    clock: systemClock,
    logger: silentLogger,
    ...options,
  });
  const info = service.sandbox.info();
  return {
    service,
    info,
    databaseUrl: database.url,
    sandbox: createCaller(`${info.sandboxUrl}/sandbox/v1`),
    client: createCaller(info.baseUrl, info.apiKey),
    async close() {
      await service.close();
      await database.drop();
    },
  };
}
