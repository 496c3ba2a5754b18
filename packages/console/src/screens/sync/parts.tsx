import type { AccountSync, WebhookHealth } from '../../../../../src/contract/connector/sync.ts';
import { useRealNow } from '../../data/clock.ts';
import { queries } from '../../data/live.ts';
import { Chip, type Tone } from '../../ui/chip.tsx';
import { showDateTime, showSpan } from '../../ui/times.tsx';

/** Reads everything of the connector again. */
export async function readAgain(): Promise<void> {
  await Promise.all(
    ['connector', 'sync', 'doctor'].map((list) => queries.invalidateQueries({ queryKey: [list] })),
  );
}

export const HEALTH: Readonly<Record<WebhookHealth, Tone>> = {
  healthy: 'good',
  lossy: 'warn',
  silent: 'bad',
  unknown: 'plain',
};

/** A time, and how long ago it was. */
export function Ago({ iso, none }: { readonly iso: string | null; readonly none: string }) {
  const now = useRealNow();
  if (iso === null) return <span className="faint">{none}</span>;
  const at = Date.parse(iso);
  return (
    <>
      <time dateTime={iso}>{showDateTime(at)}</time>
      {at > now ? null : <span className="faint"> {showSpan(now - at)} ago</span>}
    </>
  );
}

export function LastPoll({ lastPoll, pollOverdue }: Pick<AccountSync, 'lastPoll' | 'pollOverdue'>) {
  if (lastPoll === null) return <span className="faint">none yet</span>;
  const { startedAt, ok, error, notBefore } = lastPoll;
  return (
    <>
      <Chip tone={ok && !pollOverdue ? 'good' : 'bad'}>{ok ? 'succeeded' : (error ?? 'failed')}</Chip>{' '}
      <Ago iso={startedAt} none="" />
      {pollOverdue ? <b className="bad"> · the next one is late</b> : null}
      {notBefore === null ? '' : ` · not before ${showDateTime(notBefore)}`}
    </>
  );
}
