import { isConnectionFailure } from './database.ts';

/**
 * Retries a statement once if the database aborted it for an unrelated reason: a lost connection, a deadlock,
 * a race. The statement must be safe to repeat.
 */
export async function retryOnce<T>(statement: () => Promise<T>): Promise<T> {
  try {
    return await statement();
  } catch (error) {
    if (!isConnectionFailure(error)) throw error;
    return await statement();
  }
}
