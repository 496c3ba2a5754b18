import { type ComponentType, lazy, Suspense, useRef, useState } from 'react';
import { mode } from '../data/live.ts';
import { Button } from '../ui/button.tsx';
import { useKeys } from '../ui/keys.tsx';
import { takeFocus } from '../ui/take-focus.ts';

/** A pane of the dock. */
interface Pane {
  readonly name: string;
  readonly label: string;
  readonly key: string;
  readonly load: () => Promise<ComponentType>;
}

/** The panes in their order; each opens over any screen. */
const PANES: readonly Pane[] = [
  {
    name: 'time',
    label: 'Time',
    key: 't',
    load: () => import('../screens/dock/time.tsx').then(({ TimePane }) => TimePane),
  },
  {
    name: 'faults',
    label: 'Faults',
    key: 'f',
    load: () => import('../screens/dock/faults.tsx').then(({ FaultsPane }) => FaultsPane),
  },
];

const COMPONENTS = new Map(
  PANES.map(({ name, load }) => [name, lazy(async () => ({ default: await load() }))]),
);

/** The bottom pane. It stays open while screens change. It takes the focus, and Esc gives it back. */
export function Dock() {
  const [open, setOpen] = useState<string>();
  const cameFrom = useRef<Element>(null);
  const dock = useRef<HTMLElement>(null);
  const close = (): void => {
    const hadFocus = dock.current?.contains(document.activeElement) ?? false;
    setOpen(undefined);
    if (hadFocus && cameFrom.current instanceof HTMLElement) cameFrom.current.focus({ preventScroll: true });
  };
  const toggle = (name: string): void => {
    if (open === name) {
      close();
      return;
    }
    if (dock.current?.querySelector('.pane')?.contains(document.activeElement) !== true)
      cameFrom.current = document.activeElement;
    setOpen(name);
  };
  useKeys('Dock', [
    ...PANES.map(({ name, label, key }) => ({ keys: key, label, run: () => toggle(name) })),
    ...(open === undefined ? [] : [{ keys: 'Escape', label: 'Close the dock', run: close }]),
  ]);
  if (mode().mode !== 'sandbox') return null;
  const Content = open === undefined ? undefined : COMPONENTS.get(open);
  return (
    <aside
      className="dock"
      aria-label="Time and faults"
      ref={dock}
      onKeyDown={(event) => {
        // Fields keep their keys from the page; Esc leaves them as well, but closes an open menu first.
        if (event.key !== 'Escape' || open === undefined || event.defaultPrevented) return;
        if (event.currentTarget.querySelector(':popover-open') !== null) return;
        event.preventDefault();
        close();
      }}
    >
      <div className="tabs">
        {PANES.map(({ name, label, key }) => (
          <Button
            key={name}
            kind="quiet"
            aria-expanded={open === name}
            aria-keyshortcuts={key}
            onClick={() => toggle(name)}
          >
            {label} <kbd>{key}</kbd>
          </Button>
        ))}
      </div>
      {Content === undefined ? null : (
        <Suspense key={open}>
          <div className="pane" ref={takeFocus}>
            <Content />
          </div>
        </Suspense>
      )}
    </aside>
  );
}
