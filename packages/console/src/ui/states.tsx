import type { Query } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { ApiError } from '../data/client.ts';
import { queries } from '../data/live.ts';
import { Button } from './button.tsx';

export interface StateProps {
  readonly title: string;
  readonly hint?: ReactNode;
  readonly action?: ReactNode;
}

/** Nothing is here yet, or something went wrong; `hint` says what to do next. */
export function EmptyState({ title, hint, action, isError }: StateProps & { readonly isError?: boolean }) {
  return (
    <div className="state" role={isError ? 'alert' : undefined}>
      <h2 className={isError ? 'bad' : undefined}>{title}</h2>
      {hint === undefined ? null : <p className="soft">{hint}</p>}
      {action}
    </div>
  );
}

/** What a failed call says: what happened, which field, and what to try. Nothing without an error. */
export function Failure({ error, onRetry }: { readonly error: unknown; readonly onRetry?: () => void }) {
  if (error === null || error === undefined) return null;
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
      {onRetry === undefined ? null : <Button onClick={onRetry}>Try again</Button>}
    </div>
  );
}

/** What a failed read says. A missing resource is not a failure; other reads can be retried with a button. */
export function ReadFailure({ error }: { readonly error: unknown }) {
  if (error instanceof ApiError && error.status === 404)
    return <EmptyState title={error.message} hint="Press Esc to return to the list." />;
  return <Failure error={error} onRetry={() => void queries.refetchQueries({ predicate: isFailed })} />;
}

/** In the place of what could not be read, or not yet. */
export function Unread({ error, label }: { readonly error: unknown; readonly label: string }) {
  return error === null ? <Loading label={label} /> : <ReadFailure error={error} />;
}

const isFailed = ({ state }: Query): boolean => state.status === 'error';

/** A placeholder while rows are read. */
export function Loading({ label = 'Loading' }: { readonly label?: string }) {
  return (
    <div className="loading" role="status">
      <span className="visually-hidden">{label}</span>
    </div>
  );
}
