import { describe, expect, it } from 'vitest';
import { readRetryAfter } from '../../../src/connector/service-client/retry-after.ts';

const now = Date.UTC(2026, 0, 15, 12);

function read(values: Record<string, string>): number | null {
  return readRetryAfter(new Headers(values), now);
}

describe('Retry-After', () => {
  it.each([
    ['1', 1_000],
    ['0', 0],
    [' 120 ', 120_000],
  ])('reads %j as seconds', (value, expected) => {
    expect(read({ 'retry-after': value })).toBe(expected);
  });

  it.each([
    ['Thu, 15 Jan 2026 12:00:30 GMT', 30_000],
    ['Thursday, 15-Jan-26 12:00:30 GMT', 30_000],
    ['Thu Jan 15 12:00:30 2026', 30_000],
    ['Thu, 15 Jan 2026 11:00:00 GMT', 0],
  ])('reads the date %j', (value, expected) => {
    expect(read({ 'retry-after': value })).toBe(expected);
  });

  it('takes a date relative to the date of the answer, whatever this clock says', () => {
    const headers = { 'retry-after': 'Thu, 15 Jan 2026 18:00:30 GMT', date: 'Thu, 15 Jan 2026 18:00:00 GMT' };
    expect(read(headers)).toBe(30_000);
  });

  it('believes no wait beyond a day', () => {
    expect(read({ 'retry-after': '999999999' })).toBe(86_400_000);
    expect(read({ 'retry-after': 'Thu, 15 Jan 2099 12:00:00 GMT' })).toBe(86_400_000);
  });

  it.each(['', '-1', '1.5', '1e3', '0x10', 'soon', '2026-01-15', '10000000000'])('ignores %j', (value) => {
    expect(read({ 'retry-after': value })).toBeNull();
  });

  it('is null when the header is absent', () => {
    expect(read({})).toBeNull();
  });
});
