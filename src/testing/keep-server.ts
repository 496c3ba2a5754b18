import { argv } from 'node:process';
import { systemClock } from '../runtime/clock/system-clock.ts';
import { startFastPostgres } from './fast-postgres.ts';
import { isKeeper, nameKeeper } from './shared-server.ts';

const LOOK_MS = 1_000;

/**
 * The keeper of a shared server, a separate process: it uses the server until no other process has used it for
 * `idleMs`. So the server survives the pauses between test processes, and stops even if they were all killed.
 */
async function keepServer(dataDir: string, idleMs: number): Promise<void> {
  const name = nameKeeper();
  for (;;) {
    const server = await startFastPostgres(dataDir, { name });
    const [keeper] = (await server.users()).filter(isKeeper);
    // A second keeper ends at once.
    let usedAt = systemClock.elapsed();
    while (keeper === name && systemClock.elapsed() - usedAt < idleMs) {
      await systemClock.sleep(Math.min(LOOK_MS, idleMs));
      if ((await server.users()).length > 1) usedAt = systemClock.elapsed();
    }
    // Another process may have joined in the meantime.
    if ((await server.stop()) || keeper !== name) return;
  }
}

const [, , dataDir = '', idleMs = ''] = argv;
await keepServer(dataDir, Number(idleMs));
