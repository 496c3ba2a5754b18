import { useEffect, useRef, useSyncExternalStore } from 'react';

/** A key of the page. `g d` is two keys, one after the other. */
export interface KeyBinding {
  readonly keys: string;
  /** What it does, for the overlay. */
  readonly label: string;
  readonly run: () => void;
}

const groups = new Map<string, readonly KeyBinding[]>();
const listeners = new Set<() => void>();
let snapshot: readonly (readonly [string, readonly KeyBinding[]])[] = [];
let prefix = '';

function publish(): void {
  snapshot = [...groups];
  for (const listener of listeners) listener();
}

const TYPED_INTO = 'input, textarea, select, [contenteditable="true"]';

function onKey(event: KeyboardEvent): void {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  if (event.target instanceof Element && event.target.matches(TYPED_INTO)) return;
  if (document.querySelector('dialog[open]') !== null) return;
  const typed = prefix === '' ? event.key : `${prefix} ${event.key}`;
  prefix = '';
  const all = [...groups.values()].toReversed().flat();
  const found = all.find(({ keys }) => keys === typed);
  if (found !== undefined) {
    event.preventDefault();
    found.run();
  } else if (all.some(({ keys }) => keys.startsWith(`${event.key} `))) prefix = event.key;
}

/** Binds keys while a component is mounted. A later group wins over an earlier one. */
export function useKeys(group: string, bindings: readonly KeyBinding[]): void {
  const current = useRef(bindings);
  current.current = bindings;
  const described = bindings.map(({ keys, label }) => `${keys}\t${label}`).join('\n');
  useEffect(() => {
    if (described === '') return;
    groups.set(
      group,
      described.split('\n').map((line, place) => {
        const [keys = '', label = ''] = line.split('\t');
        return { keys, label, run: () => current.current[place]?.run() };
      }),
    );
    if (groups.size === 1) window.addEventListener('keydown', onKey);
    publish();
    return () => {
      groups.delete(group);
      if (groups.size === 0) window.removeEventListener('keydown', onKey);
      publish();
    };
  }, [group, described]);
}

const NAMES: Readonly<Record<string, string>> = { Escape: 'Esc', ArrowDown: '↓', ArrowUp: '↑' };

/** The overlay of `?`: the keys that work where the reader is. */
export function KeyOverlay({ onClose }: { readonly onClose: () => void }) {
  const shown = useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => snapshot,
  );
  return (
    <dialog
      className="keys"
      aria-label="Keys"
      onClose={onClose}
      ref={(dialog) => {
        if (dialog?.open === false) dialog.showModal();
      }}
      onClick={({ currentTarget, target }) => target === currentTarget && currentTarget.close()}
      onKeyDown={(event) => event.key === '?' && event.currentTarget.close()}
    >
      <div className="panel">
        <h1>Keys</h1>
        {shown.map(([group, bindings]) => (
          <section key={group}>
            <h2>{group}</h2>
            <dl>
              {bindings.map(({ keys, label }) => (
                <div key={keys} className="contents">
                  <dt>
                    {keys.split(' ').map((key) => (
                      <kbd key={key}>{NAMES[key] ?? key}</kbd>
                    ))}
                  </dt>
                  <dd>{label}</dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
      </div>
    </dialog>
  );
}
