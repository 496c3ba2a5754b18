import { randomBytes } from 'node:crypto';
import type { LoopOptions } from '../commands/loop.ts';
import { portsFrom } from '../commands/ports.ts';
import { systemClock } from '../runtime/clock/system-clock.ts';
import { createLogger } from '../runtime/logger/logger.ts';
import { generateSealingKey } from '../runtime/sealing/key-ring.ts';

/** What `startLoop` takes, with sends without delay and a poll that no test waits for. */
export function loopOptions(databaseUrl: string, options: Partial<LoopOptions> = {}): LoopOptions {
  return {
    connectorDatabaseUrl: databaseUrl,
    platformDatabaseUrl: databaseUrl,
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
    logger: createLogger({ level: 'silent', name: 'testing' }),
    ...options,
  };
}
