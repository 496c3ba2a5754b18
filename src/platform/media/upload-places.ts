import type { Clock } from '../../runtime/clock/clock.ts';
import { ASSUMPTIONS } from '../kernel/assumptions.ts';
import { PlatformError } from '../kernel/platform-error.ts';

/** Limits the files that are uploaded at the same time; each holds about one piece in memory. */
export interface UploadPlaces {
  /**
   * Resolves when a file of the workspace may be uploaded, with a function that returns its place. While waiting, the
   * caller leaves the body unread. Throws `rate_limited` with `Retry-After` if too many files of the workspace are
   * waiting, or this one has waited for too long.
   */
  enter(workspaceId: string): Promise<() => void>;
}

interface Waiter {
  readonly workspaceId: string;
  readonly admit: () => void;
}

/**
 * Creates places for uploads, limited in total and per workspace, so that one customer cannot take all of them. A free
 * place goes to the waiting workspace with the fewest. [choice.upload.places]
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
        reject(refuse('the file waited too long for other uploads of the workspace'));
      });
      waiting.push(waiter);
    });

  return {
    async enter(workspaceId) {
      const queued = waiting.filter((waiter) => waiter.workspaceId === workspaceId).length;
      if (fits(workspaceId) && queued === 0) take(workspaceId);
      else if (queued >= waitingPerWorkspace) throw refuse('too many files of the workspace are waiting');
      else await wait(workspaceId);
      let isHeld = true;
      return () => {
        if (isHeld) leave(workspaceId);
        isHeld = false;
      };
    },
  };
}
