import { useEffect, useRef } from 'react';

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

const SWITCH = 'console-letter-keys';

/** Whether keys that type a character do something; a person who dictates, or types by accident, turns them off. */
export let hasLetters = localStorage.getItem(SWITCH) !== 'off';

export function switchLetters(isOn: boolean): void {
  hasLetters = isOn;
  if (isOn) localStorage.removeItem(SWITCH);
  else localStorage.setItem(SWITCH, 'off');
  document.documentElement.dataset['letters'] = isOn ? 'on' : 'off';
}
switchLetters(hasLetters);

const TYPED_INTO = 'input, textarea, select, [contenteditable="true"]';

function onKey(event: KeyboardEvent): void {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  if (!hasLetters && event.key.length === 1) return;
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

/** The bound keys by group; for `useSyncExternalStore`. */
export const boundKeys = {
  subscribe(listener: () => void): () => void {
    listeners.add(listener);
    return () => listeners.delete(listener);
  },
  snapshot: () => snapshot,
};
