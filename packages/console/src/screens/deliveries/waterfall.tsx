import { LIMITS } from '../../../../../src/contract/service/limits.ts';
import { showDuration } from '../../ui/times.tsx';
import { resultOf, type Series } from './series.ts';
import './deliveries.css';

/** When the service attempts a delivery if each attempt fails at once, in ms from the first attempt. */
const ATTEMPTS_MS = LIMITS.webhookAttemptDelaysMs.map((_, index, delays) =>
  delays.slice(0, index + 1).reduce<number>((sum, ms) => sum + ms, 0),
);
const LAST_ATTEMPT_MS = Math.max(...ATTEMPTS_MS);

const percent = (ms: number, axis: number): string => `${Math.min(100, Math.max(0, (ms / axis) * 100))}%`;

/** The marks of the axis with their times. */
export function Axis({ axis }: { readonly axis: number }) {
  return (
    <span className="axis" aria-hidden="true">
      {ATTEMPTS_MS.map((ms) => (
        <span key={ms} className="axis-mark" style={{ left: percent(ms, axis) }}>
          {`${ms / 1_000}${ms === LAST_ATTEMPT_MS ? ' s' : ''}`}
        </span>
      ))}
    </span>
  );
}

/** One series of attempts on an axis: where each bar begins, how long it took, how it ended. */
export function Waterfall({ series, axis }: { readonly series: Series | undefined; readonly axis: number }) {
  const marks = ATTEMPTS_MS.map((ms) => `${percent(ms, axis)} 0`).join();
  return (
    <span className="waterfall" style={{ backgroundPosition: marks }}>
      {series?.attempts.map(({ attempt, number, from, to }) => (
        <span
          key={number}
          className={`bar ${resultOf(attempt)}`}
          style={{ left: percent(from, axis), width: percent(to - from, axis) }}
          title={`Attempt ${number} at ${showDuration(from)}, ${showDuration(attempt.ms)}`}
        />
      ))}
    </span>
  );
}
