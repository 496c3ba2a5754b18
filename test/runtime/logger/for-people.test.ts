import { expect, it } from 'vitest';
import { formatLine } from '../../../src/runtime/logger/format-line.ts';

const ENTRY = { level: 'warn', time: '2026-01-15T12:03:04.567Z', name: 'start', pid: 7 };
const line = (fields: object): string =>
  // In a test no stream is a terminal, so no colour is written.
  formatLine(JSON.stringify({ ...ENTRY, ...fields }), process.stdout);

it('a log entry on a terminal is one line with time, level, message and fields', () => {
  expect(line({ msg: 'polling is late', accountId: 'a1', ms: 12 })).toBe(
    '12:03 warn  polling is late (accountId a1, ms 12)\n',
  );
  expect(line({ msg: 'plain' })).toBe('12:03 warn  plain\n');
  expect(line({})).toBe('12:03 warn  \n');
});

it('an error in it is shown by its message and code', () => {
  const err = { type: 'Error', code: 'ECONNREFUSED', message: 'connect failed' };
  expect(line({ level: 'error', msg: 'a poll failed', err })).toBe(
    '12:03 error a poll failed (connect failed, ECONNREFUSED)\n',
  );
});
