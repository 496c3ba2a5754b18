import { Link } from '@tanstack/react-router';
import { mode } from '../../data/live.ts';
import { useKeys } from '../../ui/keys.ts';
import { showDateTime, Time } from '../../ui/times.tsx';
import { type Journey, LANES, type Lane, type Place, type Step } from './journey.ts';

const LANE_NAMES: Readonly<Record<Lane, string>> = {
  phone: 'Phone',
  service: 'Service',
  attempts: 'Attempts',
  connector: 'Connector',
  crm: 'CRM',
};

/** One line per step, with a mark in its lane; opened, it shows the rest. `j` and `k` move. */
export function Steps({ journey: { steps, isShifted } }: { readonly journey: Journey }) {
  const lanes =
    mode().mode === 'sandbox' ? LANES : LANES.filter((lane) => lane !== 'phone' && lane !== 'attempts');
  const move = (by: number): void => {
    const lines = [...document.querySelectorAll<HTMLElement>('.journey-step > summary')];
    const at = lines.findIndex((line) => line.matches(':focus'));
    lines[at === -1 ? 0 : Math.min(Math.max(at + by, 0), lines.length - 1)]?.focus();
  };
  useKeys('Journey', [
    { keys: 'j', label: 'Next step', run: () => move(1) },
    { keys: 'k', label: 'Previous step', run: () => move(-1) },
  ]);
  const style = { '--lanes': lanes.length } as React.CSSProperties;
  return (
    <section aria-label="Steps">
      <h2>Steps</h2>
      <div className="journey-lanes" data-shifted={isShifted} style={style}>
        <div className="journey-head" aria-hidden="true">
          <span>{isShifted ? 'Virtual' : 'Time'}</span>
          {isShifted ? <span>Real</span> : null}
          {lanes.map((lane) => (
            <span key={lane} className="journey-lane">
              {LANE_NAMES[lane]}
            </span>
          ))}
        </div>
        <ol>
          {steps.map((step, place) => (
            <li key={step.key}>
              <StepLine step={step} before={steps[place - 1]} lanes={lanes} isShifted={isShifted} />
            </li>
          ))}
        </ol>
      </div>
    </section>
  );
}

function StepLine({
  step,
  before,
  lanes,
  isShifted,
}: {
  readonly step: Step;
  readonly before: Step | undefined;
  readonly lanes: readonly Lane[];
  readonly isShifted: boolean;
}) {
  const { lane, title, tone, virtual, real, facts, place } = step;
  const at = lanes.indexOf(lane);
  const last = before === undefined ? at : lanes.indexOf(before.lane);
  const style = {
    '--at': at,
    '--left': Math.min(at, last),
    '--hop': Math.abs(at - last),
  } as React.CSSProperties;
  return (
    <details className="journey-step" style={style}>
      <summary>
        <span className="journey-time">
          {isShifted ? (
            virtual === undefined ? (
              ''
            ) : (
              <At at={virtual} kind="virtual" />
            )
          ) : (
            <At at={real ?? virtual} kind="real" />
          )}
        </span>
        {isShifted ? (
          <span className="journey-time faint">{real === undefined ? '' : <At at={real} kind="real" />}</span>
        ) : null}
        <span className="journey-rails" aria-hidden="true">
          <span className="journey-hop" />
          <span className="journey-mark" data-tone={tone} />
        </span>
        <span className="journey-words">
          <span className="journey-name">{LANE_NAMES[lane]}</span> <span data-tone={tone}>{title}</span>
        </span>
      </summary>
      <div className="journey-more">
        <dl className="facts">
          {virtual === undefined ? null : <Fact name="Virtual time" value={showDateTime(virtual)} />}
          {real === undefined ? null : <Fact name="Real time" value={showDateTime(real)} />}
          {facts.map(([name, value]) => (
            <Fact key={name} name={name} value={value} />
          ))}
        </dl>
        {place === undefined ? null : <PlaceLink place={place} />}
      </div>
    </details>
  );
}

function At({ at, kind }: { readonly at: number | undefined; readonly kind: 'virtual' | 'real' }) {
  if (at === undefined) return null;
  return (
    <>
      <Time iso={new Date(at).toISOString()} kind={kind} />
      <span className="faint">.{String(at % 1_000).padStart(3, '0')}</span>
    </>
  );
}

function Fact({ name, value }: { readonly name: string; readonly value: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        <bdi>{value}</bdi>
      </dd>
    </div>
  );
}

/** Leads to the row of another screen, if this console has that screen. */
function PlaceLink({ place: { screen, id = '', with: other } }: { readonly place: Place }) {
  if (screen === 'sync') return <Link to="/sync">Show in Sync</Link>;
  if (mode().mode !== 'sandbox') return null;
  const params = { id };
  if (screen === 'deliveries')
    return (
      <Link to="/deliveries/$id" params={params}>
        Show the delivery
      </Link>
    );
  if (screen === 'calls')
    return (
      <Link to="/calls/$id" params={params}>
        Show the call
      </Link>
    );
  if (screen === 'connections')
    return (
      <Link to="/connections/$id" params={params}>
        Show the connection
      </Link>
    );
  return (
    <Link to="/phone/$id" params={params} search={other === undefined ? {} : { with: other }}>
      Show the phone
    </Link>
  );
}
