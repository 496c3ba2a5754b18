import { type ErrorComponentProps, Outlet, useNavigate, useRouterState } from '@tanstack/react-router';
import { useEffect, useMemo, useRef, useState } from 'react';
import { describeMode, screensOf } from '../../../../src/contract/console/screens.ts';
import { mode } from '../data/live.ts';
import { useOutage, useScreenReading } from '../data/read.ts';
import type { Outage } from '../data/reading.ts';
import { lazyPart } from '../screens/lazy-part.tsx';
import { markSeen } from '../screens/overview/steps-shown.ts';
import { useConcerns } from '../screens/overview/use-concerns.ts';
import { Button } from '../ui/button.tsx';
import { useKeys } from '../ui/keys.ts';
import { HeadPlaces } from '../ui/page-head.tsx';
import { EmptyState } from '../ui/states.tsx';
import { showTime } from '../ui/times.tsx';
import { Dock } from './dock.tsx';
import { showIcon } from './icon.ts';
import { Navigation } from './navigation.tsx';
import { LOOKS } from './screens.ts';
import { Strip } from './strip.tsx';

const KeyOverlay = lazyPart('KeyOverlay');

const SearchDialog = lazyPart('SearchDialog');

/** What surrounds every screen. Its heading names the screen, and takes the focus after `g` and a letter. */
export function Shell() {
  const navigate = useNavigate();
  const path = useRouterState({ select: ({ location }) => location.pathname });
  const heading = useRef<HTMLHeadingElement>(null);
  const [keysShown, showKeys] = useState(false);
  const [isSearching, search] = useState(false);
  const screens = screensOf(mode());
  const current = screens.find(({ path: own }) => path.startsWith(own));
  const label = current?.label ?? 'Console';
  const purpose = current && LOOKS[current.path].purpose;
  const [count, setCount] = useState<HTMLElement | null>(null);
  const [actions, setActions] = useState<HTMLElement | null>(null);
  const places = useMemo(() => ({ count, actions }), [count, actions]);
  const outage = useOutage();
  const problems = useConcerns().concerns.length + (isBlind(outage) ? 1 : 0);
  useEffect(() => {
    document.title = `${problems === 0 ? '' : `(${problems}) `}${label} · ${describeMode(mode())}`;
    showIcon(problems);
  }, [problems, label]);
  useEffect(() => {
    if (/^\/deliveries\/(?!webhook$)./.test(path)) markSeen('delivery');
    if (/^\/journey\/./.test(path)) markSeen('journey');
  }, [path]);
  useKeys('Everywhere', [
    ...screens.map(({ path: to, label: name, key }) => ({
      keys: `g ${key}`,
      label: name,
      run: () => void navigate({ to }).then(() => heading.current?.focus()),
    })),
    { keys: '/', label: 'Find a number, an id or a text', run: () => search(true) },
    { keys: '?', label: 'These keys', run: () => showKeys(true) },
  ]);
  return (
    <div className="frame">
      <Strip outage={outage} onSearch={() => search(true)} />
      <Navigation problems={problems} onKeys={() => showKeys(true)} />
      {isBlind(outage) ? <Blind outage={outage} /> : null}
      <main className="screen" data-blind={isBlind(outage)}>
        <div className="page-head">
          <div>
            <h1 tabIndex={-1} ref={heading}>
              {label}
            </h1>
            <span className="page-count" ref={setCount} />
            <p className="soft">{purpose}</p>
          </div>
          <div className="page-actions" ref={setActions} />
        </div>
        <HeadPlaces value={places}>
          <Outlet />
        </HeadPlaces>
      </main>
      <Dock />
      {isSearching ? <SearchDialog onClose={() => search(false)} /> : null}
      {keysShown ? <KeyOverlay onClose={() => showKeys(false)} /> : null}
    </div>
  );
}

/** An outage because of which the page cannot read. While the service fails, the page reads that it does. */
type BlindOutage = Exclude<Outage, 'service'>;
const isBlind = (outage: Outage | null): outage is BlindOutage => outage !== null && outage !== 'service';

const BLIND: Readonly<Record<BlindOutage, readonly [title: string, hint: string]>> = {
  server: ['The server does not respond', 'The command that serves this page has stopped or hangs.'],
  connector: [
    'The connector does not respond',
    'The server of this page runs, but receives no answer: the connector or its database hangs or has stopped.',
  ],
  database: ['The database does not respond', 'The server runs, but cannot read what it has stored.'],
  reads: ['Not everything can be read', 'Some figures of this screen could not be read again.'],
};

/** Says that the page cannot read, and how old what it shows is. It leaves by itself. */
function Blind({ outage }: { readonly outage: BlindOutage }) {
  const { at } = useScreenReading();
  const [title, hint] = BLIND[outage];
  return (
    <div className="outage" role="alert">
      <h2 className="bad">{title}</h2>
      <p>
        {hint} {at === undefined ? '' : `What is shown is as of ${showTime(at)}. `}This page continues by
        itself.
      </p>
    </div>
  );
}

/** Stands in the place of the whole page when it cannot learn what it is connected to. */
export function StartError({ error, onRetry }: { readonly error: unknown; readonly onRetry: () => void }) {
  return (
    <main>
      <EmptyState
        isError
        title="The console could not start"
        hint={`${(error as Error).message} Check that the command that serves this page is running.`}
        action={
          <Button kind="main" onClick={onRetry}>
            Try again
          </Button>
        }
      />
    </main>
  );
}

export function NotFound() {
  return <EmptyState isError title="There is no such page" hint="The navigation lists the pages." />;
}

export function ScreenError({ error, reset }: ErrorComponentProps) {
  const { message } = error as Error;
  const isOld = /dynamically imported module|module script/.test(message);
  return (
    <EmptyState
      isError
      title={isOld ? 'The console has been updated' : 'This screen failed'}
      hint={isOld ? 'Reload the page to continue with the new version.' : message}
      action={
        <Button onClick={() => (isOld ? location.reload() : reset())}>
          {isOld ? 'Reload' : 'Try again'}
        </Button>
      }
    />
  );
}
