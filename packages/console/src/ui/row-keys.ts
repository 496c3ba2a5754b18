import { type KeyBinding, useKeys } from './keys.ts';

/** What moves through rows: how many there are, which has the focus or else is open, and how one gets the focus. */
interface Rows {
  readonly count: () => number;
  readonly current: () => number;
  readonly focus: (index: number) => void;
}

/** `j` and `k` move the focus to the next row and to the previous one. */
export function useRowKeys({ count, current, focus }: Rows, more: readonly KeyBinding[] = []): void {
  const move = (by: number): void => {
    if (count() > 0) focus(Math.min(Math.max(current() + by, 0), count() - 1));
  };
  useKeys('List', [
    { keys: 'j', label: 'Next row', run: () => move(1) },
    { keys: 'k', label: 'Previous row', run: () => move(-1) },
    ...more,
  ]);
}

/** The same for rows that are all drawn, in the order of the page. */
export function useDrawnRowKeys(selector: string): void {
  const rows = () => [...document.querySelectorAll<HTMLElement>(selector)];
  const placeOf = (state: string): number => rows().findIndex((row) => row.matches(state));
  useRowKeys({
    count: () => rows().length,
    current: () => (placeOf(':focus') === -1 ? placeOf('[aria-current]') : placeOf(':focus')),
    focus: (index) => rows()[index]?.focus(),
  });
}
