import type { ComponentProps } from 'react';

/** What a button starts, and with what. While it is running, the button is `aria-disabled`. */
export interface Starts<Input> {
  /** As `useAction` returns it. */
  readonly action?: { readonly isPending: boolean; readonly mutate: (input: Input) => void };
  readonly input?: Input;
  /** If other things must end before, whether they or the action are running. */
  readonly isPending?: boolean | undefined;
}

/** A button. Without an action, it does what its properties say. */
export function Button<Input = void>({
  kind,
  action,
  input,
  isPending = action?.isPending,
  ...given
}: ComponentProps<'button'> & Starts<Input> & { readonly kind?: 'main' | 'quiet' }) {
  return (
    <button
      type="button"
      className={kind === undefined ? 'button' : `button ${kind}`}
      aria-disabled={isPending}
      onClick={() => action?.mutate(input as Input)}
      {...given}
    />
  );
}
