import type { ComponentProps, ReactNode } from 'react';

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

/** A button of a menu, which closes it. While `isPending`, it is `aria-disabled`, and the menu stays open. */
export function MenuButton({
  isPending,
  onClick,
  children,
}: {
  readonly isPending: boolean;
  readonly onClick: () => void;
  readonly children: ReactNode;
}) {
  return (
    <button
      type="button"
      aria-disabled={isPending}
      onClick={({ currentTarget }) => {
        if (isPending) return;
        currentTarget.closest<HTMLElement>('.menu')?.hidePopover();
        onClick();
      }}
    >
      {children}
    </button>
  );
}
