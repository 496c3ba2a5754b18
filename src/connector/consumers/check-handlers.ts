import { HISTORY_MODES } from '../../contract/connector/consumers.ts';
import type { ChangeHandlers } from './sinks/handler.ts';

/** Limits of the values that handlers may choose. */
const MAX_ATTEMPTS = 100;
const SHORTEST_DEADLINE_MS = 100;
const LONGEST_DEADLINE_MS = 60 * 60_000;

/** Valid handlers, or what is wrong with them, as a phrase that follows a name. */
export type CheckedHandlers = { readonly handlers: ChangeHandlers } | { readonly problem: string };

/** Checks a value that JavaScript code passed as handlers. */
export function checkHandlers(given: unknown): CheckedHandlers {
  const { onChange, onChanges, attempts, deadlineMs, historic } = (given ?? {}) as Partial<
    Record<keyof ChangeHandlers, unknown>
  >;
  if (typeof onChange !== 'function') {
    const found = onChange === undefined ? 'none' : `a value of type ${typeof onChange}`;
    return {
      problem: `must have a function onChange, but has ${found}; write: export function onChange(change, context) {}`,
    };
  }
  if (onChanges !== undefined && typeof onChanges !== 'function')
    return { problem: `has an invalid onChanges; it must be a function` };
  if (!isWithin(attempts, 1, MAX_ATTEMPTS)) {
    return { problem: `has invalid attempts; they must be an integer from 1 to ${MAX_ATTEMPTS}` };
  }
  if (!isWithin(deadlineMs, SHORTEST_DEADLINE_MS, LONGEST_DEADLINE_MS)) {
    return {
      problem: `has an invalid deadlineMs; it must be an integer from ${SHORTEST_DEADLINE_MS} to ${LONGEST_DEADLINE_MS}`,
    };
  }
  if (historic !== undefined && !HISTORY_MODES.some((mode) => mode === historic))
    return { problem: `has an invalid historic; it must be one of ${HISTORY_MODES.join(', ')}` };
  return { handlers: given as ChangeHandlers };
}

/** Throws a TypeError if JavaScript code passed something else than handlers. */
export function demandHandlers(given: unknown): void {
  const checked = checkHandlers(given);
  if ('problem' in checked) throw new TypeError(`the given object ${checked.problem}`);
}

function isWithin(value: unknown, least: number, most: number): boolean {
  if (value === undefined) return true;
  return typeof value === 'number' && Number.isInteger(value) && value >= least && value <= most;
}
