import { type ComponentProps, type ReactNode, useId } from 'react';
import { isOf } from '../data/client.ts';
import { Button, MenuButton } from './button.tsx';
import { Failure } from './states.tsx';
import './screen.css';

/** What connects an input with its label and its error. */
export interface InputProps {
  readonly id: string;
  readonly name: string;
  readonly 'aria-invalid': boolean;
  readonly 'aria-describedby': string;
}

/** A labelled input, with what the server says about it. */
export function Field({
  name,
  label,
  hint,
  error,
  children,
}: {
  /** The field of the request. */
  readonly name: string;
  readonly label: string;
  readonly hint?: ReactNode;
  readonly error: unknown;
  readonly children: (input: InputProps) => ReactNode;
}) {
  const id = useId();
  const isWrong = isOf(error, name);
  return (
    <div className="form-field">
      <label htmlFor={id}>{label}</label>
      {children({ id, name, 'aria-invalid': isWrong, 'aria-describedby': `${id}-note` })}
      <p id={`${id}-note`} className={isWrong ? 'bad' : 'faint'} role={isWrong ? 'alert' : undefined}>
        {isWrong ? error.message : hint}
      </p>
    </div>
  );
}

/** A group of boxes to tick, of which some are ticked. */
export function Ticked<Value extends string>({
  name,
  label,
  values,
  ticked,
  error,
  hintOf,
}: {
  readonly name: string;
  readonly label: string;
  readonly values: readonly Value[];
  readonly ticked: readonly Value[];
  readonly error: unknown;
  readonly hintOf?: (value: Value) => ReactNode;
}) {
  return (
    <fieldset className="form-field">
      <legend>{label}</legend>
      {values.map((value) => (
        <label key={value} className="tick">
          <input type="checkbox" name={name} value={value} defaultChecked={ticked.includes(value)} />
          <span className="mono">{value}</span> <span className="faint">{hintOf?.(value)}</span>
        </label>
      ))}
      {isOf(error, name) ? (
        <p className="bad" role="alert">
          {error.message}
        </p>
      ) : null}
    </fieldset>
  );
}

/** A form that sends nothing by itself: `onSubmit` receives its fields. */
export function Form({
  label,
  onSubmit,
  ...given
}: Omit<ComponentProps<'form'>, 'onSubmit'> & {
  readonly label?: string;
  readonly onSubmit: (fields: FormData) => void;
}) {
  return (
    <form
      className="form"
      aria-label={label}
      onSubmit={(event) => {
        event.preventDefault();
        onSubmit(new FormData(event.currentTarget));
      }}
      {...given}
    />
  );
}

/** A failure that belongs to none of the fields of a form. */
export function FormFailure({
  error,
  fields,
}: {
  readonly error: unknown;
  readonly fields: readonly string[];
}) {
  if (error === null || fields.some((field) => isOf(error, field))) return null;
  return <Failure error={error} />;
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
  const id = useId();
  return (
    <>
      <Button popoverTarget={id} disabled={isDisabled}>
        {label}
      </Button>
      <div id={id} popover="auto" className="menu confirm">
        <p>{question}</p>
        <MenuButton isPending={isPending} onClick={onConfirm}>
          {label}
        </MenuButton>
      </div>
    </>
  );
}
