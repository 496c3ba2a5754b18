import { Link, useNavigate, useRouterState } from '@tanstack/react-router';
import Help from 'lucide-react/icons/circle-question-mark';
import More from 'lucide-react/icons/ellipsis';
import { useState } from 'react';
import { screensOf } from '../../../../src/contract/console/screens.ts';
import { mode } from '../data/live.ts';
import { showSteps } from '../screens/overview/steps-shown.ts';
import { Button } from '../ui/button.tsx';
import { Mark } from '../ui/mark.tsx';
import { Menu, MenuButton } from '../ui/menu.tsx';
import { AT_HAND, LOOKS } from './screens.ts';
import { applyTheme, nextTheme, readTheme } from './theme.ts';

const MOST_AT_HAND = 5;

type Screen = ReturnType<typeof screensOf>[number];

/** The screens at the left; in a narrow window at the bottom, those that do not fit there in a menu. */
export function Navigation({ problems, onKeys }: { readonly problems: number; readonly onKeys: () => void }) {
  const screens = screensOf(mode());
  const isMore = ({ path }: Screen): boolean => screens.length > MOST_AT_HAND && !AT_HAND.includes(path);
  const more = screens.filter(isMore);
  return (
    <nav className="nav" aria-label="Screens">
      <p className="brand" aria-hidden="true">
        <Mark /> messaging-connector
      </p>
      <ul>
        {screens.map((screen) => (
          <li key={screen.path} className={isMore(screen) ? 'is-more' : undefined}>
            <ScreenLink screen={screen} problems={problems} />
          </li>
        ))}
      </ul>
      {more.length === 0 ? null : (
        <Button kind="quiet" popoverTarget="more-screens">
          <More />
          More
        </Button>
      )}
      <div id="more-screens" popover="auto" className="menu more-screens">
        {more.map((screen) => (
          <ScreenLink key={screen.path} screen={screen} problems={problems} />
        ))}
        <ThemeButton />
      </div>
      <div className="foot">
        <ThemeButton title="Theme" />
        <HelpMenu onKeys={onKeys} />
      </div>
    </nav>
  );
}

function ScreenLink({
  screen: { path, label, key },
  problems,
}: {
  readonly screen: Screen;
  readonly problems: number;
}) {
  const isCurrent = useRouterState({ select: ({ location }) => location.pathname.startsWith(path) });
  const { Icon } = LOOKS[path];
  return (
    <Link
      to={path}
      aria-current={isCurrent ? 'page' : undefined}
      onClick={({ currentTarget }) => currentTarget.closest<HTMLElement>('[popover]')?.hidePopover()}
    >
      <Icon />
      {label}{' '}
      {path !== '/overview' || problems === 0 ? (
        <span aria-hidden="true">
          <kbd>g {key}</kbd>
        </span>
      ) : (
        <span className="badge" title="What needs attention">
          {problems}
        </span>
      )}
    </Link>
  );
}

function ThemeButton({ title }: { readonly title?: string }) {
  const [theme, setTheme] = useState(readTheme);
  const turn = (): void => {
    const next = nextTheme(theme);
    applyTheme(next);
    setTheme(next);
  };
  return (
    <Button kind="quiet" onClick={turn} title={title}>
      {{ system: '◐ Auto', light: '○ Light', dark: '● Dark' }[theme]}
    </Button>
  );
}

/** The keys, and the first steps again. */
function HelpMenu({ onKeys }: { readonly onKeys: () => void }) {
  const navigate = useNavigate();
  const isSandbox = mode().mode === 'sandbox';
  if (!isSandbox)
    return (
      <Button kind="quiet" onClick={onKeys} aria-label="Keys">
        <Help />
      </Button>
    );
  return (
    <Menu kind="quiet" label={<Help />} aria-label="Help" className="help">
      <MenuButton onClick={onKeys}>Keys</MenuButton>
      <MenuButton
        onClick={() => {
          showSteps(true);
          void navigate({ to: '/overview' });
        }}
      >
        First steps
      </MenuButton>
    </Menu>
  );
}
