import type { DeliveryAttempt } from '../../../../../src/contract/sandbox/deliveries.ts';

/** An attempt on the axis of its series: both in milliseconds from the beginning of the series. */
export interface PlacedAttempt {
  readonly attempt: DeliveryAttempt;
  /** Its place among all attempts, from 1. */
  readonly number: number;
  readonly from: number;
  readonly to: number;
}

/** Attempts that belong together: the first try with its retries, or a resend. */
export interface Series {
  readonly at: number;
  readonly attempts: readonly PlacedAttempt[];
}

/** A later attempt than this after the one before it was not a retry. */
const NEXT_SERIES_MS = 5_000;

/** Attempts in series. The first one begins when the delivery was created, so that a wait before it shows. */
export function groupAttempts(createdAt: string, attempts: readonly DeliveryAttempt[]): readonly Series[] {
  const series: { at: number; attempts: PlacedAttempt[] }[] = [];
  let end = Number.NEGATIVE_INFINITY;
  for (const [place, attempt] of attempts.entries()) {
    const at = Date.parse(attempt.at);
    const isFirst = place === 0 && at - Date.parse(createdAt) < NEXT_SERIES_MS;
    if (at - end > NEXT_SERIES_MS) series.push({ at: isFirst ? Date.parse(createdAt) : at, attempts: [] });
    const current = series.at(-1);
    const from = Math.max(0, at - (current?.at ?? at));
    current?.attempts.push({ attempt, number: place + 1, from, to: from + attempt.ms });
    end = at + attempt.ms;
  }
  return series;
}

/** How an attempt ended. */
export function resultOf({ status, error }: DeliveryAttempt): 'good' | 'bad' | 'open' {
  if (status === undefined && error === undefined) return 'open';
  const isTaken = status !== undefined && Math.floor(status / 100) === 2;
  return isTaken && error === undefined ? 'good' : 'bad';
}
