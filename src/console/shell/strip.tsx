import { useQuery } from '@tanstack/react-query';
import { describeMode } from '../../contract/console/screens.ts';
import { sandbox } from '../data/client.ts';
import { useVirtualNow } from '../data/clock.ts';
import { mode, useStreamState } from '../data/live.ts';
import { showDate, showTime } from '../ui/times.tsx';

const STATES = { connecting: 'connecting', live: 'live', gone: 'no server' } as const;

/** The permanent strip: which world this is, what time it is there, and what has been made to fail. */
export function Strip() {
  const state = useStreamState();
  return (
    <header className="strip">
      <span className="world">
        <svg viewBox="0 0 32 32" aria-hidden="true">
          <path
            d="M2 16h7l4-11 6 22 4-11h7"
            fill="none"
            stroke="currentColor"
            strokeWidth="3"
            strokeLinecap="round"
            strokeLinejoin="round"
          />
        </svg>
        {describeMode(mode())}
      </span>
      {mode().mode === 'sandbox' ? <SandboxFacts /> : null}
      <span className="end">
        <span className="pulse" data-state={state} role="status">
          {STATES[state]}
        </span>
      </span>
    </header>
  );
}

function SandboxFacts() {
  const time = useVirtualNow();
  const { data: faults } = useQuery({ queryKey: ['faults'], queryFn: () => sandbox('GET', '/faults') });
  const armed = faults?.rules.length;
  return (
    <dl>
      <div>
        <dt>Virtual time</dt>
        <dd>
          {time === undefined ? (
            '–'
          ) : (
            <>
              <span className="minor">{showDate(time.now)} </span>
              {showTime(time.now)}
            </>
          )}
          {time?.isFrozen === true ? <span className="chip warn">frozen</span> : null}
        </dd>
      </div>
      <div className="minor">
        <dt>Seed</dt>
        <dd className="mono">{faults?.seed ?? '–'}</dd>
      </div>
      <div className={armed === 0 ? 'minor' : undefined}>
        <dt>Faults</dt>
        <dd>
          {armed === undefined ? (
            '–'
          ) : armed === 0 ? (
            'none'
          ) : (
            <span className="chip warn">{armed} armed</span>
          )}
        </dd>
      </div>
    </dl>
  );
}
