import type { Clock } from '../../runtime/clock/clock.ts';
import { ASSUMPTIONS } from '../kernel/assumptions.ts';
import { PlatformError } from '../kernel/platform-error.ts';

/** Room for the files that come in at once; each holds about a piece of its file in memory. */
export interface UploadPlaces {
  /**
   * Resolves, when a file of the workspace may come in, with the function that gives the place back. Whoever waits
   * leaves the body in its socket. Throws `rate_limited` with `Retry-After` when too many files of the workspace wait
   * already, or this one has waited for too long.
   */
  enter(workspaceId: string): Promise<() => void>;
}

interface Waiter {
  readonly workspaceId: string;
  readonly admit: () => void;
}

/**
 * Places for uploads: so many in all, and so many of one workspace, so that what one customer does leaves room for the
 * others. A free place goes to the workspace that has the fewest. [choice.upload.places]
 */
export function createUploadPlaces(clock: Clock): UploadPlaces {
  const { inAll, perWorkspace, waitingPerWorkspace, longestWaitMs, retryAfterSeconds } =
    ASSUMPTIONS.uploadPlaces.value;
  const inside = new Map<string, number>();
  let waiting: Waiter[] = [];
  let taken = 0;

  const insideOf = (workspaceId: string): number => inside.get(workspaceId) ?? 0;
  const fits = (workspaceId: string): boolean => taken < inAll && insideOf(workspaceId) < perWorkspace;

  const take = (workspaceId: string): void => {
    taken += 1;
    inside.set(workspaceId, insideOf(workspaceId) + 1);
  };

  const admitNext = (): void => {
    const [next] = waiting
      .filter(({ workspaceId }) => fits(workspaceId))
      .sort((a, b) => insideOf(a.workspaceId) - insideOf(b.workspaceId));
    if (next === undefined) return;
    waiting = waiting.filter((waiter) => waiter !== next);
    take(next.workspaceId);
    next.admit();
  };

  const leave = (workspaceId: string): void => {
    taken -= 1;
    const left = insideOf(workspaceId) - 1;
    if (left === 0) inside.delete(workspaceId);
    else inside.set(workspaceId, left);
    admitNext();
  };

  const refuse = (why: string): PlatformError =>
    new PlatformError('rate_limited', { retryAfterSeconds, why });

  const wait = (workspaceId: string): Promise<void> =>
    new Promise((resolve, reject) => {
      const waiter: Waiter = {
        workspaceId,
        admit() {
          cancel();
          resolve();
        },
      };
      const cancel = clock.after(longestWaitMs, () => {
        waiting = waiting.filter((other) => other !== waiter);
        reject(refuse('files of the workspace came in for too long'));
      });
      waiting.push(waiter);
    });

  return {
    async enter(workspaceId) {
      const queued = waiting.filter((waiter) => waiter.workspaceId === workspaceId).length;
      if (fits(workspaceId) && queued === 0) take(workspaceId);
      else if (queued >= waitingPerWorkspace) throw refuse('too many files of the workspace wait');
      else await wait(workspaceId);
      let isHeld = true;
      return () => {
        if (isHeld) leave(workspaceId);
        isHeld = false;
      };
    },
  };
}
