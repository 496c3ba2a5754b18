import type { ComponentProps } from 'react';

/** A button. While `action`, which it starts, or what `isPending` reports is running, it is `aria-disabled`. */
export function Button({
  kind,
  action,
  isPending = action?.isPending,
  ...given
}: ComponentProps<'button'> & {
  readonly kind?: 'main' | 'quiet';
  readonly action?: { readonly isPending: boolean; readonly mutate: () => void };
  readonly isPending?: boolean;
}) {
  return (
    <button
      type="button"
      className={kind === undefined ? 'button' : `button ${kind}`}
      aria-disabled={isPending}
      onClick={() => action?.mutate()}
      {...given}
    />
  );
}
