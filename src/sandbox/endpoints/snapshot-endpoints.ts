import { MAX_SNAPSHOTS, type Snapshot } from '../../contract/sandbox/snapshots.ts';
import type { Turns } from '../../runtime/turns/turns.ts';
import { SandboxError } from '../control/sandbox-error.ts';
import type { Handlers } from '../control/serve-endpoint.ts';

/** Saved states of the service, the sandbox and the attached connector. */
export interface Snapshots {
  list(): Snapshot[];
  /** `held` if a delivery is held, which cannot be saved; `full` if no more can be kept. */
  take(label: string | undefined): Promise<Snapshot | 'held' | 'full'>;
  /** Null for an unknown id. Ends this sandbox and starts another. */
  restore(id: string): Promise<Snapshot | null>;
  /** False for an unknown id. */
  remove(id: string): boolean;
}

const REFUSED = {
  held: 'A delivery is held, which a snapshot cannot contain: release it first.',
  full: `There are ${MAX_SNAPSHOTS} snapshots: remove one first.`,
} as const;

function refuseUnknown(): never {
  throw new SandboxError('not_found', 'No snapshot has this id. They are kept until the sandbox stops.');
}

/** Saved states, to which tests return. `turns` serializes what replaces all data. */
export function snapshotEndpoints(snapshots: Snapshots, turns: Turns) {
  return {
    listSnapshots: () => ({ entries: snapshots.list() }),

    async takeSnapshot({ body: { label } = {} }) {
      const taken = await turns.run(() => snapshots.take(label));
      if (typeof taken === 'string') throw new SandboxError('wrong_state', REFUSED[taken]);
      return taken;
    },

    restoreSnapshot: async ({ param }) =>
      (await turns.run(() => snapshots.restore(param('id')))) ?? refuseUnknown(),

    removeSnapshot: ({ param }) => (snapshots.remove(param('id')) ? { ok: true as const } : refuseUnknown()),
  } satisfies Handlers;
}
