import type { Clock } from '../../runtime/clock/clock.ts';
import { isConnectionFailure } from '../../runtime/database/database.ts';

const WAITS_MS = [50, 200, 1_000, 2_000, 5_000];

/**
 * Commits what cannot be obtained again, such as the answer of a call: retried for some seconds if the database fails
 * for an unrelated reason. It must be safe to repeat. Throws the last error.
 */
export async function retryCommit<T>(
  clock: Clock,
  commit: () => Promise<T>,
  onRetry: (error: unknown) => void,
): Promise<T> {
  for (const waitMs of WAITS_MS) {
    try {
      return await commit();
    } catch (error) {
      if (!isConnectionFailure(error)) throw error;
      onRetry(error);
      await clock.sleep(waitMs);
    }
  }
  return await commit();
}
