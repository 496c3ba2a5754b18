import { type ReactNode, useRef, useState } from 'react';
import { mode } from '../data/live.ts';
import { lazyPart } from '../screens/lazy-part.tsx';
import { Button } from '../ui/button.tsx';
import { useKeys } from '../ui/keys.ts';

interface Pane {
  readonly name: string;
  readonly label: string;
  readonly key: string;
  readonly Content: (props: object) => ReactNode;
}

/** The panes in their order; each opens over any screen. */
const PANES: readonly Pane[] = [
  { name: 'time', label: 'Time', key: 't', Content: lazyPart('TimePane') },
  { name: 'faults', label: 'Faults', key: 'f', Content: lazyPart('FaultsPane') },
  { name: 'state', label: 'State', key: 'b', Content: lazyPart('StatePane') },
];

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
  const Content = PANES.find(({ name }) => name === open)?.Content;
  return (
    <aside
      className="dock"
      aria-label="Time, faults and state"
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
        <div className="pane" key={open}>
          <Content />
        </div>
      )}
    </aside>
  );
}
