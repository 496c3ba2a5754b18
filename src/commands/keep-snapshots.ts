import { randomBytes } from 'node:crypto';
import { MAX_SNAPSHOTS, type Snapshot } from '../contract/sandbox/snapshots.ts';
import type { Platform } from '../platform/platform.ts';
import { saveClock } from '../platform/time/service-state.ts';
import type { Clock } from '../runtime/clock/clock.ts';
import { toIso } from '../runtime/clock/iso-time.ts';
import type { Database } from '../runtime/database/database.ts';
import { type SavedTables, saveTables } from '../runtime/database/saved-tables.ts';
import type { Snapshots } from '../sandbox/endpoints/snapshot-endpoints.ts';
import type { SavedRecording } from '../sandbox/recorder/flight-recorder.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import type { SandboxMemory, SandboxPorts } from '../sandbox/sandbox-ports.ts';

export interface SavedConnector {
  /** Resolves when it has no work in progress. */
  settle(): Promise<void>;
  /** What it has stored. */
  save(): Promise<SavedTables>;
  /** Stops it, runs `work`, restores what it had stored, and starts it again. */
  restore(saved: SavedTables, work: () => Promise<void>): Promise<void>;
}

export interface SnapshotOptions {
  /** That of the service. */
  readonly database: Database;
  /** The parts that run now. */
  readonly parts: () => {
    readonly platform: Platform;
    readonly ports: SandboxPorts;
    readonly sandbox: Pick<Sandbox, 'recorder'>;
  };
  /** Resolves when nothing is in progress. */
  readonly settle: () => Promise<void>;
  /** Stops the service and its sandbox, runs `put`, and starts them again. */
  readonly restart: (put: () => Promise<void>) => Promise<void>;
  readonly connector: SavedConnector | undefined;
  /** The system clock. */
  readonly clock: Clock;
}

/** Everything that a snapshot contains. */
interface World {
  readonly shown: Snapshot;
  readonly now: number;
  readonly frozen: boolean;
  readonly sendScale: number;
  readonly memory: SandboxMemory;
  readonly recording: SavedRecording;
  readonly service: SavedTables;
  readonly connector: SavedTables | undefined;
}

/**
 * Keeps snapshots in memory. To restore one, service and connector are started again on the saved rows, because they
 * read all their state at a start; servers and database connections stay open.
 */
export function createSnapshots({
  database,
  parts,
  settle,
  restart,
  connector,
  clock,
}: SnapshotOptions): Snapshots {
  const worlds = new Map<string, World>();

  const put = async ({ service, now, frozen }: World): Promise<void> => {
    await service.restore(database);
    await saveClock(database, { offsetMs: now - clock.now(), frozenAt: frozen ? now : null });
  };

  const restartService = (world: World) => async (): Promise<void> => {
    await restart(() => put(world));
    const { platform, ports, sandbox } = parts();
    ports.load(world.memory);
    sandbox.recorder.load(world.recording);
    platform.timing.setSendScale(world.sendScale);
  };

  return {
    list: () => [...worlds.values()].map(({ shown }) => shown),

    async take(label) {
      const { platform, ports, sandbox } = parts();
      if (worlds.size === MAX_SNAPSHOTS) return 'full';
      if ((await platform.delivery.count([])).held > 0) return 'held';
      await settle();
      const { frozen } = platform.time;
      const service = await saveTables(database, 'platform', []);
      const saved = await connector?.save();
      const now = platform.time.now();
      const shown = { id: randomBytes(6).toString('hex'), label: label ?? null, now: toIso(now) };
      const { sendScale } = platform.timing;
      const memory = ports.save();
      const recording = sandbox.recorder.save();
      worlds.set(shown.id, { shown, now, frozen, sendScale, memory, recording, service, connector: saved });
      return shown;
    },

    async restore(id) {
      const world = worlds.get(id);
      if (world === undefined) return null;
      const work = restartService(world);
      if (connector === undefined || world.connector === undefined) await work();
      else await connector.restore(world.connector, work);
      return world.shown;
    },

    remove: (id) => worlds.delete(id),
  };
}
