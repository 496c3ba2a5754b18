import { type ComponentType, lazy, Suspense, useState } from 'react';
import { mode } from '../data/live.ts';
import { useKeys } from '../ui/keys.tsx';

/** A pane of the dock. */
interface Pane {
  readonly name: string;
  readonly label: string;
  readonly key: string;
  readonly load: () => Promise<{ readonly default: ComponentType }>;
}

/** The panes in their order; each opens over any screen. */
const PANES: readonly Pane[] = [];

const COMPONENTS = new Map(PANES.map(({ name, load }) => [name, lazy(load)]));

/** The bottom pane. It stays open while screens change. */
export function Dock() {
  const [open, setOpen] = useState<string>();
  const toggle = (name: string): void => setOpen((now) => (now === name ? undefined : name));
  useKeys(
    'Dock',
    PANES.map(({ name, label, key }) => ({ keys: key, label, run: () => toggle(name) })),
  );
  if (mode().mode !== 'sandbox' || PANES.length === 0) return null;
  const Content = open === undefined ? undefined : COMPONENTS.get(open);
  return (
    <aside className="dock" aria-label="Time and faults">
      <div className="tabs">
        {PANES.map(({ name, label, key }) => (
          <button
            key={name}
            type="button"
            className="button quiet"
            aria-expanded={open === name}
            aria-keyshortcuts={key}
            onClick={() => toggle(name)}
          >
            {label} <kbd>{key}</kbd>
          </button>
        ))}
      </div>
      {Content === undefined ? null : (
        <div className="pane">
          <Suspense>
            <Content />
          </Suspense>
        </div>
      )}
    </aside>
  );
}
