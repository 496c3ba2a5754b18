/** As it is when the tests import the kit. */
const { setImmediate: imported } = globalThis;

/** Throws if fake timers stop a loop, which runs in the process of the tests: each call would hang without a word. */
export function demandRealTimers(): void {
  // Those of vitest and jest name their clock, which may let time pass by itself.
  const { clock } = setImmediate as { readonly clock?: { readonly attachedInterval?: unknown } };
  if (clock === undefined ? setImmediate === imported : clock.attachedInterval !== undefined) return;
  throw new Error(
    "Fake timers stop the test loop, which runs in this process. Fake only the date (toFake: ['Date'] for vitest, apis: ['Date'] for node:test), or use real timers around calls of the loop. Its own time moves with advance().",
  );
}
