import { handlerChoices } from '../../contract/connector/consumers.ts';
import { inputWords } from '../../contract/schema/input-words.ts';
import type { ChangeHandlers } from './sinks/handler.ts';

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
    return { problem: 'has invalid onChanges: must be a function' };
  const { error } = handlerChoices.safeParse({ attempts, deadlineMs, historic }, { error: inputWords });
  const [issue] = error?.issues ?? [];
  if (issue !== undefined) return { problem: `has invalid ${issue.path.join('.')}: ${issue.message}` };
  return { handlers: given as ChangeHandlers };
}

/** Throws a TypeError if JavaScript code passed something else than handlers. */
export function demandHandlers(given: unknown): void {
  const checked = checkHandlers(given);
  if ('problem' in checked) throw new TypeError(`the given object ${checked.problem}`);
}
