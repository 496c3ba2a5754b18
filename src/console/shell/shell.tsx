import { type ErrorComponentProps, Link, Outlet, useNavigate, useRouterState } from '@tanstack/react-router';
import { useState } from 'react';
import { screensOf } from '../../contract/console/screens.ts';
import { mode, useStreamState } from '../data/live.ts';
import { Button } from '../ui/button.tsx';
import { KeyOverlay, useKeys } from '../ui/keys.tsx';
import { ErrorState } from '../ui/states.tsx';
import { Dock } from './dock.tsx';
import { Strip } from './strip.tsx';
import { applyTheme, nextTheme, readTheme } from './theme.ts';

/** What surrounds every screen. */
export function Shell() {
  const navigate = useNavigate();
  const [keysShown, showKeys] = useState(false);
  useKeys('Everywhere', [
    ...screensOf(mode()).map(({ path, label, key }) => ({
      keys: `g ${key}`,
      label,
      run: () => void navigate({ to: path }),
    })),
    { keys: '?', label: 'These keys', run: () => showKeys(true) },
  ]);
  return (
    <div className="frame">
      <Strip />
      <Navigation onKeys={() => showKeys(true)} />
      <main className="main" id="main">
        <Outlet />
      </main>
      <Dock />
      <Veil />
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

/** Lies over the page while the server is gone, and lifts by itself when it is back. */
function Veil() {
  if (useStreamState() !== 'gone') return null;
  const { mode: world } = mode();
  return (
    <div className="veil">
      <div className="panel" role="alert">
        <h1>The server does not respond</h1>
        <p>
          {world === 'sandbox'
            ? 'Start it again with npm start. This page continues by itself.'
            : 'The console command or its connector has stopped. This page continues by itself.'}
        </p>
      </div>
    </div>
  );
}

/** Stands in the place of the whole page when it cannot learn what it is connected to. */
export function StartError({ error, onRetry }: { readonly error: unknown; readonly onRetry: () => void }) {
  return (
    <main>
      <ErrorState
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
  return <ErrorState title="There is no such page" hint="The navigation lists the pages." />;
}

export function ScreenError({ error, reset }: ErrorComponentProps) {
  const { message } = error as Error;
  const isOld = /dynamically imported module|module script/.test(message);
  return (
    <ErrorState
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
