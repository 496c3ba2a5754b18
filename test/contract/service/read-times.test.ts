import { expect, it } from 'vitest';
import { instant } from '../../../src/contract/service/read-fields.ts';

const NOON = Date.UTC(2026, 0, 15, 12, 0, 0);
const read = (value: unknown) => instant.parse(value);

it.each([
  '2026-01-15T12:00:00Z',
  '2026-01-15T12:00:00.000Z',
  '2026-01-15T12:00:00.000000+00:00',
  '2026-01-15T12:00:00+0000',
  '2026-01-15T12:00:00+00',
  '2026-01-15T13:30:00+01:30',
  '2026-01-15T13:30:00+0130',
  '2026-01-15T07:00:00-05',
  '2026-01-15T07:00:00\u221205:00',
  '2026-01-15T12:00:00',
  '2026-01-15T12:00',
  '2026-01-15T12:00Z',
  '2026-01-15 12:00:00',
  '2026-01-15 12:00:00 +00:00',
  '2026-01-15t12:00:00z',
  '2026-01-15T12:00:00,000Z',
  '20260115T120000Z',
  ' 2026-01-15T12:00:00Z ',
  String(NOON),
  NOON,
  NOON + 0.75,
])('reads %j as noon', (value) => {
  expect(read(value)).toBe(NOON);
});

it('reads fractions, dates, leap seconds and early years', () => {
  expect(read('2026-01-15T12:00:00.5Z')).toBe(NOON + 500);
  expect(read('2026-01-15T12:00:00,123456789+00:00')).toBe(NOON + 123);
  expect(read('2026-01-15')).toBe(Date.UTC(2026, 0, 15));
  expect(read('20260115')).toBe(Date.UTC(2026, 0, 15));
  expect(read('2016-12-31T23:59:60Z')).toBe(Date.UTC(2017, 0, 1));
  expect(read('0001-01-01T00:00:00Z')).toBe(-62_135_596_800_000);
  expect(read('2024-02-29T00:00:00Z')).toBe(Date.UTC(2024, 1, 29));
});

it.each<unknown>([
  ...[undefined, null, '', ' ', 'noon', 'Thu, 15 Jan 2026 12:00:00 GMT', '2026-01-15T12', '12:00:00'],
  ...['2026-02-30T00:00:00Z', '2026-13-01T00:00:00Z', '2026-01-15T24:00:01Z', '2026-01-15T12:60:00Z'],
  ...[
    '2026-01-15T12:00:00Z and more',
    '1763700000',
    1e300,
    -1,
    Number.NaN,
    253_402_300_800_000,
    true,
    {},
    [],
  ],
  ...[[NOON], { valueOf: () => NOON }, '9'.repeat(10_000)],
])('reads no time in %j', (value) => {
  expect(read(value)).toBeNull();
});
