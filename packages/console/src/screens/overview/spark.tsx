import type { Column } from './trend.ts';

/** Of one column, of which there are 60 or 96. */
const WIDTH = 3;
const HEIGHT = 28;

/** Columns over time, the newest at the right. What did not go well stands on top, in red. */
export function Spark({ columns }: { readonly columns: readonly (Column | null)[] }) {
  const most = Math.max(1, ...columns.map((column) => (column === null ? 0 : column.good + column.bad)));
  const scale = (value: number): number => (value === 0 ? 0 : Math.max(2, (value / most) * HEIGHT));
  return (
    <svg
      className="spark"
      viewBox={`0 0 ${columns.length * WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      aria-hidden="true"
    >
      {columns.map((column, place) => {
        if (column === null) return null;
        const [good, bad] = [scale(column.good), scale(column.bad)];
        const x = place * WIDTH;
        return (
          // biome-ignore lint/suspicious/noArrayIndexKey: a column is its place
          <g key={place}>
            {good === 0 ? null : <rect x={x} y={HEIGHT - good} width={WIDTH - 1} height={good} />}
            {bad === 0 ? null : (
              <rect className="is-bad" x={x} y={HEIGHT - good - bad} width={WIDTH - 1} height={bad} />
            )}
          </g>
        );
      })}
    </svg>
  );
}
