const GATHER_MS = 100;

/** Returns a function that runs `run` 100 ms after the first of several calls, once for all of them. */
export function gathered(run: () => void): () => void {
  let isWaiting = false;
  return () => {
    if (isWaiting) return;
    isWaiting = true;
    setTimeout(() => {
      isWaiting = false;
      run();
    }, GATHER_MS);
  };
}

const MOST_REST_MS = 1_000;

/**
 * Returns a function that runs `run` 100 ms after the first of several calls, never twice at a time. If it is called
 * again and again, the runs become rarer, up to one a second: what costs the server time must not keep it from its work.
 */
export function paced(run: () => Promise<unknown>): () => void {
  let isCalled = false;
  let isBusy = false;
  let restMs = GATHER_MS;
  const begin = (): void => {
    isBusy = true;
    setTimeout(async () => {
      isCalled = false;
      await run();
      setTimeout(() => {
        isBusy = false;
        restMs = isCalled ? Math.min(2 * restMs, MOST_REST_MS) : GATHER_MS;
        if (isCalled) begin();
      }, restMs);
    }, GATHER_MS);
  };
  return () => {
    isCalled = true;
    if (!isBusy) begin();
  };
}
