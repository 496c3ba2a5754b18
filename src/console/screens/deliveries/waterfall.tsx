import { showDuration } from '../../ui/times.tsx';
import { resultOf, type Series } from './series.ts';
import './deliveries.css';

/** When the service tries: at once, half a second later, and a second after that. */
const TRIES_MS = [0, 500, 1_500] as const;
/** What the axis of a row shows, so that rows can be compared. */
export const ROW_AXIS_MS = 2_000;

const percent = (ms: number, axis: number): string => `${Math.min(100, Math.max(0, (ms / axis) * 100))}%`;

/** The marks of the axis with their times. */
export function Axis({ axis }: { readonly axis: number }) {
  return (
    <span className="axis" aria-hidden="true">
      {TRIES_MS.map((ms) => (
        <span key={ms} className="axis-mark" style={{ left: percent(ms, axis) }}>
          {`${ms / 1_000}${ms === 1_500 ? ' s' : ''}`}
        </span>
      ))}
    </span>
  );
}

/** One series of attempts on an axis: where each bar begins, how long it took, how it ended. */
export function Waterfall({ series, axis }: { readonly series: Series | undefined; readonly axis: number }) {
  const marks = TRIES_MS.map((ms) => `${percent(ms, axis)} 0`).join();
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
