import { STATES, type StateName } from './states.ts';

const WIDTH = 94;
const HEIGHT = 26;

/** Where each state is drawn. */
const PLACES: Readonly<Record<StateName, readonly [x: number, y: number]>> = {
  connecting: [1, 14],
  connected: [139, 14],
  disconnected: [277, 14],
  logged_out: [139, 96],
  removed: [277, 96],
};

/** Arrows between them as paths, and their labels. */
const ARROWS: readonly (readonly [path: string, label: string, x: number, y: number])[] = [
  ['M95 27H136', 'paired', 115, 22],
  ['M233 21H274', 'outage', 254, 15],
  ['M277 33H236', 'recovers', 255, 48],
  ['M324 40V68H66V43', 'restart', 255, 80],
  ['M186 40V93', 'log out', 206, 84],
  ['M139 109H28V43', 'restart', 84, 104],
  ['M233 109H274', 'delete', 253, 104],
];

/** The states of a connection as a picture, with the current one marked, and as a list. */
export function StateDiagram({ current }: { readonly current: StateName }) {
  return (
    <figure className="states">
      <svg viewBox="0 0 372 124" aria-hidden="true">
        <marker
          id="states-arrow"
          viewBox="0 0 6 6"
          refX="5"
          refY="3"
          markerWidth="6"
          markerHeight="6"
          orient="auto"
        >
          <path d="M0 0L6 3L0 6z" />
        </marker>
        {ARROWS.map(([path, label, x, y]) => (
          <g key={path}>
            <path className="arrow" d={path} markerEnd="url(#states-arrow)" />
            <text className="label" x={x} y={y}>
              {label}
            </text>
          </g>
        ))}
        {STATES.map(({ name, label }) => {
          const [x, y] = PLACES[name];
          return (
            <g key={name} className="state-node" data-current={name === current}>
              <rect x={x} y={y} width={WIDTH} height={HEIGHT} rx="5" />
              <text x={x + WIDTH / 2} y={y + 17}>
                {label}
              </text>
            </g>
          );
        })}
      </svg>
      <details>
        <summary>What the states mean</summary>
        <ul aria-label="States">
          {STATES.map(({ name, label, meaning, exits }) => (
            <li key={name} aria-current={name === current ? 'step' : undefined}>
              <b>{label}</b>
              {name === current ? ' (now)' : ''}: {meaning} <span className="faint">{exits}</span>
            </li>
          ))}
        </ul>
        <p className="faint">Logging out and deleting are possible in every state.</p>
      </details>
    </figure>
  );
}
