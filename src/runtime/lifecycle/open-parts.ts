/** What a start has opened so far. */
export interface OpenParts {
  /** Registers how to close a part that has just been opened. */
  add(close: () => Promise<void>): void;
  /**
   * Closes every part, the last one first, even if one of them fails.
   * @throws the first failure, once all parts are closed.
   */
  close(): Promise<void>;
}

/** Runs `start`. If it throws, everything that it has opened is closed, and the same error is thrown. */
export async function openParts<Opened>(start: (parts: OpenParts) => Promise<Opened>): Promise<Opened> {
  const closers: (() => Promise<void>)[] = [];
  async function close(): Promise<void> {
    const failures: unknown[] = [];
    for (let step = closers.pop(); step !== undefined; step = closers.pop()) {
      await step().catch((error: unknown) => failures.push(error));
    }
    if (failures.length > 0) throw failures[0];
  }
  try {
    return await start({ add: (step) => void closers.push(step), close });
  } catch (error) {
    await close().catch(() => undefined);
    throw error;
  }
}
