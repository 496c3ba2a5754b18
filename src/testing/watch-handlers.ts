import type { ChangeHandlers } from '../connector/consumers/sinks/handler.ts';

/** Handlers that are called as they are, and what they threw for changes that they have not accepted since. */
export interface WatchedHandlers {
  readonly handlers: ChangeHandlers;
  /** Adds to the error of a wait why the handler failed last, which may be the reason. */
  explain(error: unknown): unknown;
  /** The changes before do not matter any more. */
  forget(): void;
}

export function watchHandlers(given: ChangeHandlers): WatchedHandlers {
  const thrown = new Map<number, unknown>();
  const onChange: ChangeHandlers['onChange'] = async (change, context) => {
    thrown.delete(change.seq);
    try {
      await given.onChange(change, context);
    } catch (error) {
      thrown.set(change.seq, error);
      throw error;
    }
  };
  return {
    // Invalid ones are refused as they are.
    handlers:
      typeof given.onChange === 'function' ? Object.assign(Object.create(given), { onChange }) : given,
    explain(error) {
      // Other kinds of errors are refusals.
      if (!(error instanceof Error) || error.name !== 'Error' || thrown.size === 0) return error;
      const last = [...thrown.values()].at(-1);
      const message = `${error.message.replace(/\.?$/, '.')} The handler failed: ${last}`;
      return new Error(message, { cause: error.cause ?? last });
    },
    forget: () => thrown.clear(),
  };
}
