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
