import { isConnectionFailure } from './database.ts';

/**
 * Runs a statement once more when the database gave it up for a reason that lies outside of it: a lost
 * connection, a deadlock, a race. The statement must be safe to repeat.
 */
export async function retryOnce<T>(statement: () => Promise<T>): Promise<T> {
  try {
    return await statement();
  } catch (error) {
    if (!isConnectionFailure(error)) throw error;
    return await statement();
  }
}
