import { describe, expect, it } from 'vitest';
import { outageOf, readingOf } from '../src/data/reading.ts';

const NOW = Date.parse('2026-01-15T12:03:20.000Z');
const failure = new Error('There was no response within 4.5 s.');
const read = (secondsAgo: number, failed: Error | null = null) => ({
  at: NOW - secondsAgo * 1_000,
  failure: failed,
});

describe('the reading of figures', () => {
  it('is as old as the oldest of them', () => {
    expect(readingOf(NOW, [read(1), read(3)])).toEqual({ at: NOW - 3_000, isCurrent: true, isLate: false });
  });

  it('is late nine seconds after the last read, although no read has failed', () => {
    expect(readingOf(NOW, [read(9)])).toMatchObject({ isCurrent: true, isLate: false });
    expect(readingOf(NOW, [read(10)])).toMatchObject({ isCurrent: false, isLate: true });
  });

  it('is late once a read has failed, however short ago the one before succeeded', () => {
    expect(readingOf(NOW, [read(1), read(1, failure)])).toMatchObject({ isCurrent: false, isLate: true });
  });

  it('is neither current nor late before all of them were read for the first time', () => {
    const unread = { at: 0, failure: null };
    expect(readingOf(NOW, [read(1), unread])).toEqual({ at: undefined, isCurrent: false, isLate: false });
    expect(readingOf(NOW, [])).toEqual({ at: undefined, isCurrent: false, isLate: false });
  });

  it('is late if the first read failed', () => {
    expect(readingOf(NOW, [{ at: 0, failure }])).toEqual({ at: undefined, isCurrent: false, isLate: true });
  });
});

describe('the outage that is named', () => {
  const works = { server: 200, ready: 200, hasConnector: true, isLate: false, pollsFail: false };

  it.each([
    ['nothing while all parts respond', {}, null],
    ['nothing while the connector is not ready, but can be read', { ready: 503 }, null],
    ['the server of the page', { server: 0, ready: 0, isLate: true }, 'server'],
    ['the connector that the server does not reach', { ready: 502 }, 'connector'],
    ['the connector that accepts connections and is silent', { ready: 0 }, 'connector'],
    ['the database, because of which the connector is not ready', { ready: 503, isLate: true }, 'database'],
    ['the database of a sandbox', { ready: 0, hasConnector: false, isLate: true }, 'database'],
    ['single figures, if all parts respond', { isLate: true }, 'reads'],
    ['the service, if polls fail', { pollsFail: true }, 'service'],
    ['the database before the service', { ready: 503, isLate: true, pollsFail: true }, 'database'],
  ] as const)('is %s', (_, signs, outage) => {
    expect(outageOf({ ...works, ...signs })).toBe(outage);
  });
});
