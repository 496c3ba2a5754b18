import { Link } from '@tanstack/react-router';
import type { LucideIcon } from 'lucide-react';
import CrmIcon from 'lucide-react/icons/building-2';
import Plain from 'lucide-react/icons/circle';
import Good from 'lucide-react/icons/circle-check';
import Bad from 'lucide-react/icons/circle-x';
import ConnectorIcon from 'lucide-react/icons/database';
import Warn from 'lucide-react/icons/refresh-cw';
import ServiceIcon from 'lucide-react/icons/server';
import PhoneIcon from 'lucide-react/icons/smartphone';
import WebhookIcon from 'lucide-react/icons/webhook';
import { mode } from '../../data/live.ts';
import { Facts } from '../../ui/about.tsx';
import { useDrawnRowKeys } from '../../ui/row-keys.ts';
import { showDateTime, showDuration, Time } from '../../ui/times.tsx';
import { type Journey, LANES, type Lane, type Place, type Step } from './journey.ts';

const MARKS = { good: Good, warn: Warn, bad: Bad, plain: Plain } as const;

const LANE_ICONS: Readonly<Record<Lane, LucideIcon>> = {
  phone: PhoneIcon,
  service: ServiceIcon,
  attempts: WebhookIcon,
  connector: ConnectorIcon,
  crm: CrmIcon,
};

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
  useDrawnRowKeys('.journey-step > summary');
  const style = { '--lanes': lanes.length } as React.CSSProperties;
  return (
    <section aria-label="Steps">
      <h2>Steps</h2>
      <div className="journey-lanes" data-shifted={isShifted} style={style}>
        <div className="journey-head" aria-hidden="true">
          <span>{isShifted ? 'Virtual, real' : 'Time'}</span>
          <span>
            {lanes.map((lane) => {
              const Icon = LANE_ICONS[lane];
              return (
                <span key={lane} className="journey-lane">
                  <Icon />
                  {LANE_NAMES[lane]}
                </span>
              );
            })}
          </span>
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
  const last = before === undefined ? undefined : lanes.indexOf(before.lane);
  const took = before && elapsed(before, step);
  const Mark = MARKS[tone];
  return (
    <details className="journey-step" data-tone={tone}>
      <summary>
        <span className="journey-times">
          {isShifted ? (
            <>
              <At at={virtual} kind="virtual" />
              <span className="faint">
                <At at={real} kind="real" />
              </span>
            </>
          ) : (
            <At at={real ?? virtual} kind="real" />
          )}
        </span>
        <span className="journey-rails" aria-hidden="true">
          {last === undefined ? null : <Way from={last} to={at} of={lanes.length} took={took} />}
          <Mark
            className="journey-mark"
            style={{ '--x': `${((at + 0.5) / lanes.length) * 100}%` } as React.CSSProperties}
          />
        </span>
        <span className="journey-words">
          <span className="journey-name">{LANE_NAMES[lane]}</span>{' '}
          <span className="journey-title">{title}</span>
          {tone === 'good' ? null : <Cause facts={facts} />}
        </span>
      </summary>
      <div className="journey-more">
        <Facts
          facts={[
            ['Virtual time', virtual && showDateTime(virtual)],
            ['Real time', real && showDateTime(real)],
            ...facts,
          ]}
        />
        {place === undefined ? null : <PlaceLink place={place} />}
      </div>
    </details>
  );
}

/** Milliseconds from one step to the next, by a clock that knows both; undefined if none does. */
function elapsed(before: Step, step: Step): number | undefined {
  const ms =
    before.real !== undefined && step.real !== undefined
      ? step.real - before.real
      : before.virtual !== undefined && step.virtual !== undefined
        ? step.virtual - before.virtual
        : undefined;
  return ms === undefined || ms < 1 ? undefined : ms;
}

/** The path from the lane of the step before, with the time that it took. It is drawn over the line between both rows. */
function Way({
  from,
  to,
  of,
  took,
}: {
  readonly from: number;
  readonly to: number;
  readonly of: number;
  readonly took: number | undefined;
}) {
  const [x, y] = [from + 0.5, to + 0.5].map((lane) => (lane / of) * 100) as [number, number];
  return (
    <>
      <svg viewBox="0 0 100 100" preserveAspectRatio="none" aria-hidden="true">
        <path d={`M${x} 0C${x} 55 ${y} 45 ${y} 100`} />
      </svg>
      {took === undefined ? null : (
        <span className="journey-took" style={{ left: `${(x + y) / 2}%` }} data-straight={from === to}>
          +{showDuration(took)}
        </span>
      )}
    </>
  );
}

/** Why a step did not go well, in words: the last of its facts that says so. */
function Cause({ facts }: Pick<Step, 'facts'>) {
  const cause = facts.findLast(([name]) => /^(?:Attempt|Refused|Last error|Error)/.test(name));
  return cause === undefined ? null : <span className="soft">{cause[1]}</span>;
}

function At({ at, kind }: { readonly at: number | undefined; readonly kind: 'virtual' | 'real' }) {
  if (at === undefined) return null;
  return (
    <span>
      <Time iso={new Date(at).toISOString()} kind={kind} />
      <span className="faint">.{String(at % 1_000).padStart(3, '0')}</span>
    </span>
  );
}

/** Leads to the row of another screen, if this console has that screen. */
function PlaceLink({ place: { screen, id = '', with: other } }: { readonly place: Place }) {
  if (screen === 'sync') return <Link to="/sync">Show in Sync</Link>;
  if (mode().mode !== 'sandbox') return null;
  return (
    <Link to={`/${screen}/$id`} params={{ id }} search={other === undefined ? {} : { with: other }}>
      Show the {PLACES[screen]}
    </Link>
  );
}

const PLACES = { deliveries: 'delivery', calls: 'call', connections: 'connection', phone: 'phone' } as const;
