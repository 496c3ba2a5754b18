import { afterAll, beforeAll } from 'vitest';

/** What the tests of a file share: opened before the first one, and closed after the last one. */
export function ofFile<Shared extends object>(
  open: () => Promise<Shared>,
  close: (shared: Shared) => Promise<void>,
): Shared {
  let shared: Shared | undefined;
  beforeAll(async () => {
    shared = await open();
  });
  afterAll(() => (shared === undefined ? undefined : close(shared)));
  return new Proxy({} as Shared, {
    get(_, name) {
      if (shared === undefined) throw new Error('it is opened before the first test, and not earlier');
      const value: unknown = Reflect.get(shared, name);
      return typeof value === 'function' ? value.bind(shared) : value;
    },
  });
}
