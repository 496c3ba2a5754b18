import { type ComponentProps, type ReactNode, useId } from 'react';
import { Button } from './button.tsx';

/** A button that opens a menu, or a question, below it. The button has the other properties. */
export function Menu({
  label,
  className = '',
  children,
  ...button
}: Omit<ComponentProps<typeof Button>, 'action' | 'popoverTarget'> & { readonly label: ReactNode }) {
  const id = useId();
  return (
    <>
      <Button popoverTarget={id} {...button}>
        {label}
      </Button>
      <div id={id} popover="auto" className={`menu ${className}`}>
        {children}
      </div>
    </>
  );
}

/** Closes the menu that an element is in. */
export const closeMenu = (element: Element | null | undefined): void =>
  element?.closest<HTMLElement>('.menu')?.hidePopover();

/** A button of a menu, which closes it. While `isPending`, it is `aria-disabled`, and the menu stays open. */
export function MenuButton({
  isPending = false,
  onClick,
  children,
}: {
  readonly isPending?: boolean;
  readonly onClick: () => unknown;
  readonly children: ReactNode;
}) {
  return (
    <button
      type="button"
      aria-disabled={isPending}
      onClick={({ currentTarget }) => {
        if (isPending) return;
        closeMenu(currentTarget);
        onClick();
      }}
    >
      {children}
    </button>
  );
}

/** A button that asks once, in its own place, before it does what cannot be undone. */
export function Confirmed({
  label,
  question,
  isDisabled = false,
  isPending,
  onConfirm,
}: {
  readonly label: string;
  readonly question: string;
  readonly isDisabled?: boolean;
  /** Whether it cannot be confirmed yet, because the action or another one is running. */
  readonly isPending: boolean;
  readonly onConfirm: () => void;
}) {
  return (
    <Menu label={label} disabled={isDisabled} className="confirm">
      <p>{question}</p>
      <MenuButton isPending={isPending} onClick={onConfirm}>
        {label}
      </MenuButton>
    </Menu>
  );
}
