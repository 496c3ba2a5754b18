import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest';

type Close<Opened> = (opened: Opened) => Promise<unknown>;

interface Opener {
  <Opened extends { close(): Promise<unknown> }>(open: () => Promise<Opened>): Opened;
  <Opened extends object>(open: () => Promise<Opened>, close: Close<Opened>): Opened;
}

/** What the tests of a file, or of a block, share: opened before the first one, and closed after the last one. */
export const ofFile = createOpener(beforeAll, afterAll);

/** The same anew for each test. */
export const ofTest = createOpener(beforeEach, afterEach);

function createOpener(
  before: (open: () => Promise<void>) => void,
  after: (close: () => Promise<unknown> | undefined) => void,
): Opener {
  return <Opened extends object>(open: () => Promise<Opened>, close?: Close<Opened>): Opened => {
    let opened: Opened | undefined;
    before(async () => {
      opened = await open();
    });
    after(() => (opened === undefined ? undefined : (close ?? closeIt)(opened)));
    const get = (): Opened => {
      if (opened === undefined) throw new Error('it is opened before the first test, and not earlier');
      return opened;
    };
    const standIn: Opened = new Proxy({} as Opened, {
      get(_, name) {
        const value: unknown = Reflect.get(get(), name);
        return typeof value === 'function' ? value.bind(get()) : value;
      },
      // What inherits from it may have properties of its own.
      set: (_, name, value, receiver): boolean =>
        receiver === standIn
          ? Reflect.set(get(), name, value)
          : Reflect.defineProperty(receiver, name, { value, writable: true, configurable: true }),
    });
    return standIn;
  };
}

const closeIt = (opened: object): Promise<unknown> => (opened as { close(): Promise<unknown> }).close();
