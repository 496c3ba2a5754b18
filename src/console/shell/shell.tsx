import { type ErrorComponentProps, Link, Outlet, useNavigate, useRouterState } from '@tanstack/react-router';
import { useEffect, useRef, useState } from 'react';
import { describeMode, screensOf } from '../../contract/console/screens.ts';
import { mode } from '../data/live.ts';
import { useOutage, useScreenReading } from '../data/read.ts';
import type { Outage } from '../data/reading.ts';
import { useConcerns } from '../screens/overview/use-concerns.ts';
import { Button } from '../ui/button.tsx';
import { useKeys } from '../ui/keys.ts';
import { lazyPart } from '../ui/lazy-part.tsx';
import { EmptyState } from '../ui/states.tsx';
import { showTime } from '../ui/times.tsx';
import { Dock } from './dock.tsx';
import { Strip } from './strip.tsx';
import { applyTheme, nextTheme, readTheme } from './theme.ts';

const KeyOverlay = lazyPart('keys', async () => (await import('../ui/key-overlay.tsx')).KeyOverlay);

/** What surrounds every screen. Its heading names the screen, and takes the focus after `g` and a letter. */
export function Shell() {
  const navigate = useNavigate();
  const path = useRouterState({ select: ({ location }) => location.pathname });
  const heading = useRef<HTMLHeadingElement>(null);
  const [keysShown, showKeys] = useState(false);
  const screens = screensOf(mode());
  const label = screens.find(({ path: own }) => path.startsWith(own))?.label ?? 'Console';
  const outage = useOutage();
  const problems = useConcerns().concerns.length + (isBlind(outage) ? 1 : 0);
  useEffect(() => {
    document.title = `${problems === 0 ? '' : `(${problems}) `}${label} · ${describeMode(mode())}`;
  }, [problems, label]);
  useKeys('Everywhere', [
    ...screens.map(({ path: to, label: name, key }) => ({
      keys: `g ${key}`,
      label: name,
      run: () => void navigate({ to }).then(() => heading.current?.focus()),
    })),
    { keys: '?', label: 'These keys', run: () => showKeys(true) },
  ]);
  return (
    <div className="frame">
      <Strip outage={outage} />
      <Navigation onKeys={() => showKeys(true)} />
      {isBlind(outage) ? <Blind outage={outage} /> : null}
      <main className="screen" data-blind={isBlind(outage)}>
        <h1 className="visually-hidden" tabIndex={-1} ref={heading}>
          {label}
        </h1>
        <Outlet />
      </main>
      <Dock />
      {keysShown ? <KeyOverlay onClose={() => showKeys(false)} /> : null}
    </div>
  );
}

/** Where the screens do not fit beside each other, the current one is scrolled into view. */
const scrollTo = (link: HTMLElement | null): void => link?.scrollIntoView({ block: 'nearest' });

function Navigation({ onKeys }: { readonly onKeys: () => void }) {
  const path = useRouterState({ select: ({ location }) => location.pathname });
  const [theme, setTheme] = useState(readTheme);
  const turn = (): void => {
    const next = nextTheme(theme);
    applyTheme(next);
    setTheme(next);
  };
  return (
    <nav className="nav" aria-label="Screens">
      <ul>
        {screensOf(mode()).map(({ path: to, label, key }) => (
          <li key={to}>
            <Link
              to={to}
              aria-current={path.startsWith(to) ? 'page' : undefined}
              ref={path.startsWith(to) ? scrollTo : undefined}
            >
              {label}{' '}
              <span aria-hidden="true">
                <kbd>g {key}</kbd>
              </span>
            </Link>
          </li>
        ))}
      </ul>
      <div className="foot">
        <Button kind="quiet" onClick={turn} title="Theme">
          {{ system: '◐ Auto', light: '○ Light', dark: '● Dark' }[theme]}
        </Button>
        <Button kind="quiet" onClick={onKeys} aria-label="Keys">
          <kbd>?</kbd>
        </Button>
      </div>
    </nav>
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
