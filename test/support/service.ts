import { type RunningService, runService } from '../../src/commands/run-service.ts';
import type { SandboxInfo } from '../../src/contract/sandbox/info.ts';
import { systemClock } from '../../src/runtime/clock/system-clock.ts';
import { createTestDatabase } from './database.ts';
import { silentLogger } from './platform.ts';

/** The service with its sandbox on a database of its own, for a connector that runs elsewhere. */
export interface TestService {
  readonly service: RunningService;
  readonly info: SandboxInfo;
  close(): Promise<void>;
}

/** `webhookSecret` is given to the subscription of the seeded workspace in place of a random one. */
export async function startTestService(webhookSecret?: string): Promise<TestService> {
  const database = await createTestDatabase({ platform: true });
  const service = await runService({
    databaseUrl: database.url,
    ports: { sandbox: 0, platform: 0, legacy: 0 },
    sendScale: 0,
    webhookSecret,
    onTakenOver: () => undefined,
    clock: systemClock,
    logger: silentLogger,
  });
  return {
    service,
    info: service.sandbox.info(),
    async close() {
      await service.close();
      await database.drop();
    },
  };
}
