import {
  type ComponentProps,
  createContext,
  type ReactNode,
  useContext,
  useEffect,
  useId,
  useRef,
} from 'react';
import { isOf } from '../data/client.ts';
import { Button } from './button.tsx';
import { Failure } from './states.tsx';
import './screen.css';

/** What a form starts: an action, or several as one. */
interface Submission {
  readonly isPending: boolean;
  /** A refusal of a field is shown at that field, any other below the form. */
  readonly error: unknown;
}

const IDLE: Submission = { isPending: false, error: null };

const Submitted = createContext({ ...IDLE, names: new Set<string>() });

/** A form that sends nothing by itself: `onSubmit` receives its fields. */
export function Form({
  label,
  action = IDLE,
  onSubmit,
  children,
  ...given
}: Omit<ComponentProps<'form'>, 'action' | 'onSubmit'> & {
  readonly label?: string;
  readonly action?: Submission;
  readonly onSubmit: (fields: FormData) => void;
}) {
  const { isPending, error } = action;
  const names = useRef(new Set<string>()).current;
  const isAtField = [...names].some((name) => isOf(error, name));
  return (
    <form
      className="form"
      aria-label={label}
      onSubmit={(event) => {
        event.preventDefault();
        onSubmit(new FormData(event.currentTarget));
      }}
      {...given}
    >
      <Submitted value={{ isPending, error, names }}>{children}</Submitted>
      {isAtField ? null : <Failure error={error} />}
    </form>
  );
}

/** The button that submits its form. */
export function Submit(given: Pick<ComponentProps<typeof Button>, 'kind' | 'children'>) {
  return <Button type="submit" isPending={useContext(Submitted).isPending} {...given} />;
}

/** Why the server refused a field of the form around it; undefined if it did not. */
function useRefusal(name: string): string | undefined {
  const { error, names } = useContext(Submitted);
  useEffect(() => {
    names.add(name);
    return () => void names.delete(name);
  }, [names, name]);
  return isOf(error, name) ? error.message : undefined;
}

type ControlProps = ComponentProps<'input'> & {
  /** Makes it a choice among these values. */
  readonly options?: readonly (readonly [value: string, label: string])[];
  /** Makes it a text of several lines. */
  readonly rows?: number;
};

function Control({ options, rows, ...input }: ControlProps) {
  const given = { className: 'field mono wide', autoComplete: 'off', spellCheck: false, ...input } as object;
  if (rows !== undefined) return <textarea rows={rows} {...given} />;
  if (options === undefined) return <input {...given} />;
  return (
    <select {...given}>
      {options.map(([value, label]) => (
        <option key={value} value={value}>
          {label}
        </option>
      ))}
    </select>
  );
}

/** A labelled input, with what the server says about it. */
export function Field({
  name,
  label,
  hint,
  beside,
  ...control
}: ControlProps & {
  /** The field of the request. */
  readonly name: string;
  readonly label: string;
  readonly hint?: ReactNode;
  /** What stands in its line, such as the button of a form with one field. */
  readonly beside?: ReactNode;
}) {
  const id = useId();
  const refusal = useRefusal(name);
  const isWrong = refusal !== undefined;
  const input = (
    <Control {...control} {...{ id, name }} aria-invalid={isWrong} aria-describedby={`${id}-note`} />
  );
  return (
    <div className="form-field">
      <label htmlFor={id}>{label}</label>
      {beside === undefined ? (
        input
      ) : (
        <div className="line">
          {input}
          {beside}
        </div>
      )}
      <p id={`${id}-note`} className={isWrong ? 'bad' : 'faint'} role={isWrong ? 'alert' : undefined}>
        {refusal ?? hint}
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
  hintOf,
}: {
  readonly name: string;
  readonly label: string;
  readonly values: readonly Value[];
  readonly ticked: readonly Value[];
  readonly hintOf?: (value: Value) => ReactNode;
}) {
  const refusal = useRefusal(name);
  return (
    <fieldset className="form-field">
      <legend>{label}</legend>
      {values.map((value) => (
        <label key={value} className="tick">
          <input type="checkbox" name={name} value={value} defaultChecked={ticked.includes(value)} />
          <span className="mono">{value}</span> <span className="faint">{hintOf?.(value)}</span>
        </label>
      ))}
      {refusal === undefined ? null : (
        <p className="bad" role="alert">
          {refusal}
        </p>
      )}
    </fieldset>
  );
}
