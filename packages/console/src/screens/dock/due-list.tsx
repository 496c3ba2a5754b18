import { keepPreviousData } from '@tanstack/react-query';
import { sandbox } from '../../data/client.ts';
import { SERVICE_CONNECTIONS } from '../../data/connections.ts';
import { useRead } from '../../data/read.ts';
import { ReadFailure } from '../../ui/states.tsx';
import { showDateTime, showSpan } from '../../ui/times.tsx';
import { mergeDue } from './due.ts';
import './dock.css';

const SHOWN = 8;

/** Everything that is due, or due by `until`. */
export function useDue(until: number | undefined, now: number) {
  const iso = until === undefined ? undefined : new Date(until).toISOString();
  const timers = useRead({
    queryKey: ['timers', 'due', iso],
    queryFn: () => sandbox('GET', '/clock/due', { query: { until: iso, limit: String(SHOWN) } }),
    placeholderData: keepPreviousData,
  });
  const connections = useRead(SERVICE_CONNECTIONS);
  const error = timers.error ?? connections.error;
  if (timers.data === undefined || connections.data === undefined) return { error };
  const { entries: fired, total } = timers.data;
  const entries = mergeDue(fired, connections.data, now, until);
  return { error, entries, total: entries.length - fired.length + total };
}

/** The first things that happen, or that happen until a point of virtual time. */
export function DueList({ until, now }: { readonly until: number | undefined; readonly now: number }) {
  const { error, entries, total = 0 } = useDue(until, now);
  if (entries === undefined) return <ReadFailure error={error} />;
  if (total === 0) {
    return (
      <p className="soft">
        {until === undefined
          ? 'Nothing is due. Have a contact write, or send a message.'
          : 'Nothing is due by then.'}
      </p>
    );
  }
  return (
    <>
      <ol className="due">
        {entries.slice(0, SHOWN).map(({ at, what }, place) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: several may be due at once
          <li key={place}>
            <time dateTime={new Date(at).toISOString()}>{showDateTime(at)}</time>
            <span className="faint">in {showSpan(Math.max(0, at - now))}</span>
            <bdi>{what}</bdi>
          </li>
        ))}
      </ol>
      {total > SHOWN ? <p className="faint">and {(total - SHOWN).toLocaleString()} more</p> : null}
    </>
  );
}
