import { expect, it } from 'vitest';
import { groupAttempts, resultOf } from '../src/screens/deliveries/series.ts';

const AT = Date.UTC(2026, 0, 15, 12);
const iso = (ms: number) => new Date(AT + ms).toISOString();
const attempt = (ms: number, took: number) => ({ at: iso(ms), ms: took });
const placed = (created: number, attempts: ReturnType<typeof attempt>[]) =>
  groupAttempts(iso(created), attempts).map((series) => [
    series.at - AT,
    ...series.attempts.map(({ number, from, to }) => [number, from, to]),
  ]);

it('puts the first try and its retries in one series, however long each takes, and a resend in another', () => {
  const attempts = [attempt(0, 10_000), attempt(10_500, 10_000), attempt(21_500, 40), attempt(60_000, 5)];
  expect(placed(0, attempts)).toEqual([
    [0, [1, 0, 10_000], [2, 10_500, 20_500], [3, 21_500, 21_540]],
    [60_000, [4, 0, 5]],
  ]);
});

it('begins when the delivery was created, unless that was longer ago than a retry', () => {
  expect(placed(-200, [attempt(0, 30)])).toEqual([[-200, [1, 200, 230]]]);
  expect(placed(-60_000, [attempt(0, 30)])).toEqual([[0, [1, 0, 30]]]);
});

it('is as good as its status: a 2xx is taken', () => {
  const results = [199, 201, 299, 302].map((status) => resultOf({ ...attempt(0, 30), status }));
  expect(results).toEqual(['bad', 'good', 'good', 'bad']);
});
