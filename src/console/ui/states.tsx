import type { ReactNode } from 'react';
import { ApiError } from '../data/client.ts';

interface StateProps {
  readonly title: string;
  readonly hint?: ReactNode;
  readonly action?: ReactNode;
}

/** Nothing is here yet; `hint` says what to do next. */
export function EmptyState({ title, hint, action }: StateProps) {
  return (
    <div className="state">
      <h2>{title}</h2>
      {hint === undefined ? null : <p className="soft">{hint}</p>}
      {action}
    </div>
  );
}

/** Something went wrong; `hint` says what to try. */
export function ErrorState(props: StateProps) {
  return (
    <div className="state" role="alert">
      <h2 className="bad">{props.title}</h2>
      {props.hint === undefined ? null : <p className="soft">{props.hint}</p>}
      {props.action}
    </div>
  );
}

/** What a failed call says: what happened, which field, and what to try. */
export function Failure({ error, onRetry }: { readonly error: unknown; readonly onRetry?: () => void }) {
  const isApi = error instanceof ApiError;
  return (
    <div className="failure" role="alert">
      <p>{error instanceof Error ? error.message : String(error)}</p>
      {isApi ? (
        <p className="faint mono">
          {error.call} · {error.status === 0 ? 'no response' : `${error.status} ${error.code}`}
          {error.field === undefined ? '' : ` · field ${error.field}`}
        </p>
      ) : null}
      {onRetry === undefined ? null : (
        <button type="button" className="button" onClick={onRetry}>
          Try again
        </button>
      )}
    </div>
  );
}

/** Rows that are being read. */
export function Loading({ label = 'Loading' }: { readonly label?: string }) {
  return (
    <div className="loading" role="status">
      <span className="visually-hidden">{label}</span>
    </div>
  );
}
