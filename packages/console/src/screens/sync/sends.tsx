import { getRouteApi, Link } from '@tanstack/react-router';
import type { Outbound } from '../../../../../src/contract/connector/outbound.ts';
import type { SyncStatus } from '../../../../../src/contract/connector/sync.ts';
import { connector } from '../../data/client.ts';
import { mode } from '../../data/live.ts';
import { useRead } from '../../data/read.ts';
import { useAction } from '../../data/use-action.ts';
import { Facts } from '../../ui/about.tsx';
import { ReadSection } from '../../ui/as-of.tsx';
import { Chip } from '../../ui/chip.tsx';
import { showCount } from '../../ui/count.ts';
import { describeSend, SEND_STATES } from '../../ui/describe-send.ts';
import { JourneyLink } from '../../ui/journey-link.tsx';
import { Confirmed } from '../../ui/menu.tsx';
import { Failure } from '../../ui/states.tsx';
import { showDateTime, showDuration } from '../../ui/times.tsx';
import { Ago, readAgain } from './parts.tsx';

const route = getRouteApi('/sync');

/** What was to be sent: how much waits, and the latest sends by what is certain about them. */
export function Sends({ status: { sends } }: { readonly status: SyncStatus }) {
  const { state } = route.useSearch();
  const chosen = SEND_STATES.find((each) => each === state);
  const { data, error, ...figure } = useRead({
    queryKey: ['connector', 'outbound', chosen],
    queryFn: () => connector('GET', '/v1/outbound', { query: { state: chosen, limit: '50' } as object }),
  });
  return (
    <ReadSection id="sends" label="Sends" figures={[figure]} error={error}>
      <Facts
        facts={[
          ['Queued or running', sends.waiting],
          ['Oldest', <Ago key="o" iso={sends.oldestAt} none="none waits" />],
          ['Time until sent', describeLatency(data?.outbound ?? [])],
        ]}
      />
      <nav className="line" aria-label="States of sends">
        {[undefined, ...SEND_STATES].map((each) => (
          <Link
            key={each ?? 'all'}
            to="/sync"
            search={each === undefined ? {} : { state: each }}
            className="chip"
            aria-current={each === chosen ? 'true' : undefined}
          >
            {each?.replaceAll('_', ' ') ?? 'all'}
          </Link>
        ))}
      </nav>
      {chosen === undefined ? null : (
        <p className="soft">{describeSend({ state: chosen, lastError: null }).certain}</p>
      )}
      {data?.hasMore === true ? <p className="faint">The newest {data.outbound.length} are listed.</p> : null}
      {data?.outbound.length === 0 ? <p className="faint">There are no such sends.</p> : null}
      <ul className="sync-rows" aria-label="Latest sends">
        {data?.outbound.map((send) => (
          <Send key={send.id} send={send} />
        ))}
      </ul>
    </ReadSection>
  );
}

/** How long a send that the service accepted took, from the request of the CRM on. */
const latencyOf = ({ createdAt, updatedAt }: Outbound): number =>
  Date.parse(updatedAt) - Date.parse(createdAt);

function describeLatency(sends: readonly Outbound[]): string {
  const taken = sends
    .filter(({ state }) => state === 'sent')
    .map(latencyOf)
    .sort((a, b) => a - b);
  const [median, most] = [taken[Math.floor(taken.length / 2)], taken.at(-1)];
  if (median === undefined || most === undefined) return 'none of the latest was sent';
  return `median ${showDuration(median)}, at most ${showDuration(most)}, of the latest ${taken.length}`;
}

function Send({ send }: { readonly send: Outbound }) {
  const { id, state, to, text, media, messageId, lastError, attempts, updatedAt } = send;
  const { tone, certain, canRetry } = describeSend(send);
  const retry = useAction({
    mutationFn: () => connector('POST', '/v1/outbound/{id}/retry', { params: { id } }),
    onSettled: readAgain,
  });
  return (
    <li>
      <span>
        <Chip tone={tone}>{state.replaceAll('_', ' ')}</Chip>
      </span>
      <span>
        <bdi>
          +{to} {text ?? media?.filename}
        </bdi>
      </span>
      <span className="soft" title={certain}>
        {showCount(attempts, 'attempt')}
        {lastError === null ? '' : `, ${lastError}`}
        {state === 'sent' ? ` · ${showDuration(latencyOf(send))}` : ''} · {showDateTime(updatedAt)}
      </span>
      <span className="line">
        {canRetry ? (
          <Confirmed label="Retry" question={certain} isDisabled={!mode().write} action={retry} />
        ) : null}
        <JourneyLink id={messageId} />
        <Failure error={retry.error} />
      </span>
    </li>
  );
}
