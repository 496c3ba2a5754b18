import { type ComponentProps, type ReactNode, useId } from 'react';
import { Button, type Starts } from './button.tsx';

/** A button that opens a menu, or a question, below it. The button has the other properties. */
export function Menu({
  label,
  className = '',
  children,
  ...button
}: Omit<ComponentProps<typeof Button>, keyof Starts<unknown> | 'popoverTarget'> & {
  readonly label: ReactNode;
}) {
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

/** A button of a menu, which closes it, unless what it starts cannot be started yet. */
export function MenuButton<Input = void>({
  action,
  input,
  isPending = action?.isPending ?? false,
  onClick = () => action?.mutate(input as Input),
  children,
}: Starts<Input> & { readonly onClick?: () => unknown; readonly children: ReactNode }) {
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
export function Confirmed<Input = void>({
  label,
  question,
  isDisabled = false,
  ...starts
}: Starts<Input> & {
  readonly label: string;
  readonly question: string;
  readonly isDisabled?: boolean;
}) {
  return (
    <Menu label={label} disabled={isDisabled} className="confirm">
      <p>{question}</p>
      <MenuButton {...starts}>{label}</MenuButton>
    </Menu>
  );
}
