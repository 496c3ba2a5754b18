import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { argv } from 'node:process';
import { systemClock } from '../runtime/clock/system-clock.ts';
import { countMembers } from '../runtime/database/embedded/members.ts';
import { withStartLock } from '../runtime/database/embedded/start-lock.ts';
import { startFastPostgres } from './fast-postgres.ts';
import { KEEPER_FOLDER } from './shared-server.ts';

const LOOK_MS = 1_000;

/**
 * The keeper of a shared server, a separate process: it uses the server until no other process has used it for
 * `idleMs`. So the server survives the pauses between test processes, and stops even if they were all killed.
 */
async function keepServer(dataDir: string, idleMs: number): Promise<void> {
  for (;;) {
    const server = await startFastPostgres(dataDir);
    let usedAt = systemClock.elapsed();
    while (systemClock.elapsed() - usedAt < idleMs) {
      await systemClock.sleep(Math.min(LOOK_MS, idleMs));
      if ((await server.users()) > 1) usedAt = systemClock.elapsed();
    }
    await server.stop();
    // Another process may have joined in the meantime.
    if ((await countMembers(join(dataDir, 'postgres', 'members'))) === 0) return;
  }
}

const [, , dataDir = '', idleMs = ''] = argv;
const folder = join(dataDir, KEEPER_FOLDER);
await mkdir(folder, { recursive: true });
// A second keeper ends at once.
await withStartLock(folder, { clock: systemClock, deadlineMs: 0 }, () =>
  keepServer(dataDir, Number(idleMs)),
).catch(() => undefined);
