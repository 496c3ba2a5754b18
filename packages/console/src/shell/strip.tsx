import Clock from 'lucide-react/icons/clock';
import Sandbox from 'lucide-react/icons/flask-conical';
import Find from 'lucide-react/icons/search';
import Faults from 'lucide-react/icons/zap';
import { describeMode } from '../../../../src/contract/console/screens.ts';
import { useVirtualNow } from '../data/clock.ts';
import { mode, useStreamState } from '../data/live.ts';
import { useRead, useScreenReading } from '../data/read.ts';
import type { Outage } from '../data/reading.ts';
import { FAULTS } from '../data/webhooks.ts';
import { Chip } from '../ui/chip.tsx';
import { Mark } from '../ui/mark.tsx';
import { showDate, showTime } from '../ui/times.tsx';

/** What the strip says instead of `live`, in a word. */
const OUT: Readonly<Record<Outage, string>> = {
  server: 'no server',
  connector: 'no connector',
  database: 'no database',
  reads: 'not current',
  service: 'service fails',
};
const STATES = { connecting: 'connecting', live: 'live', gone: 'connecting' } as const;

/** The permanent strip: which world this is, what time it is there, and what has been made to fail. */
export function Strip({
  outage,
  onSearch,
}: {
  readonly outage: Outage | null;
  readonly onSearch: () => void;
}) {
  const state = useStreamState();
  const { at } = useScreenReading();
  return (
    <header className="strip">
      <span className="world" data-mode={mode().mode}>
        {mode().mode === 'sandbox' ? <Sandbox /> : <Mark />}
        <span className="cut">{describeMode(mode())}</span>
      </span>
      <button type="button" className="find" aria-keyshortcuts="/" onClick={onSearch}>
        <Find />
        <span className="cut">Find a number, an id or a text</span> <kbd>/</kbd>
      </button>
      {mode().mode === 'sandbox' ? <SandboxFacts /> : null}
      <span className="end">
        {at === undefined ? null : <span className="faint">as of {showTime(at)}</span>}
        <span className="pulse" data-state={outage === null ? state : 'out'} role="status">
          {outage === null ? STATES[state] : OUT[outage]}
        </span>
      </span>
    </header>
  );
}

function SandboxFacts() {
  const time = useVirtualNow();
  const { data: faults } = useRead(FAULTS);
  const armed = faults?.rules.length;
  return (
    <dl>
      <div>
        <dt title="Virtual time">
          <Clock />
          <span className="visually-hidden">Virtual time</span>
        </dt>
        <dd>
          {time === undefined ? (
            '–'
          ) : (
            <>
              <span className="minor">{showDate(time.now)} </span>
              {showTime(time.now)}
            </>
          )}
          {time?.isFrozen === true ? <Chip tone="warn">frozen</Chip> : null}
        </dd>
      </div>
      <div className="minor">
        <dt>Seed</dt>
        <dd className="mono">{faults?.seed ?? '–'}</dd>
      </div>
      <div className={armed === 0 ? 'minor' : undefined}>
        <dt title="Faults">
          <Faults />
          <span className="visually-hidden">Faults</span>
        </dt>
        <dd>
          {armed === undefined ? '–' : armed === 0 ? 'no faults' : <Chip tone="warn">{armed} armed</Chip>}
        </dd>
      </div>
    </dl>
  );
}
