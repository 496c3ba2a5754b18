import { getRouteApi, Link } from '@tanstack/react-router';
import type { ReceivedDelivery } from '../../../../../src/contract/connector/received.ts';
import { connector } from '../../data/client.ts';
import { useNames } from '../../data/connections.ts';
import { useRead } from '../../data/read.ts';
import { refusedOf, useStatistics } from '../../data/statistics.ts';
import { AsOf } from '../../ui/as-of.tsx';
import { Chip } from '../../ui/chip.tsx';
import { JourneyLink } from '../../ui/journey-link.tsx';
import { PageHead } from '../../ui/page-head.tsx';
import { EmptyState, Loading, ReadFailure } from '../../ui/states.tsx';
import { showDateTime, showDuration } from '../../ui/times.tsx';
import './deliveries.css';

const route = getRouteApi('/deliveries');
/** All that are kept. */
const MOST = '1000';

/** What arrived at the connector's webhook in production, and how each request was answered. */
export function ReceivedScreen() {
  const { q } = route.useSearch();
  const result = q === 'refused' ? q : undefined;
  const { data, error, ...figure } = useRead({
    queryKey: ['connector', 'received', result],
    queryFn: () =>
      connector('GET', '/v1/deliveries', { query: { limit: MOST, ...(result && { result }) } as object }),
  });
  const { data: counted, ...ofCounts } = useStatistics('day');
  const nameOf = useNames();
  const refused = counted === undefined ? [] : refusedOf(counted);
  return (
    <div className="detail">
      <PageHead {...(data === undefined ? {} : { count: String(data.deliveries.length) })}>
        <AsOf figures={[figure, ofCounts]} />
      </PageHead>
      <nav className="line" aria-label="Results">
        {(['all', 'refused'] as const).map((each) => (
          <Link
            key={each}
            to="/deliveries"
            search={each === 'all' ? {} : { q: each }}
            className="chip"
            aria-current={(each === 'refused') === (result !== undefined) ? 'true' : undefined}
          >
            {each}
          </Link>
        ))}
        {counted === undefined ? null : refused.length === 0 ? (
          <span className="soft">None was refused in 24 hours.</span>
        ) : (
          <span className="soft">
            Refused in 24 hours:{' '}
            {refused.map(([reason, count]) => `${count.toLocaleString('en')} ${words(reason)}`).join(', ')}
          </span>
        )}
      </nav>
      <ReadFailure error={error} />
      {data === undefined && error === null ? <Loading label="Loading the requests" /> : null}
      {data?.deliveries.length === 0 ? (
        <EmptyState
          title={result === undefined ? 'Nothing has arrived yet' : 'None of the newest requests was refused'}
          hint="The newest 500 accepted and 500 refused requests are kept, without their bodies."
        />
      ) : null}
      {data !== undefined && data.deliveries.length > 0 ? (
        <div>
          <div className="received-head" aria-hidden="true">
            <span>Answer</span>
            <span>Event</span>
            <span>About</span>
            <span>Received · took</span>
          </div>
          <ul className="received-rows" aria-label="Received webhooks">
            {data.deliveries.map((each) => (
              <Received key={each.id} delivery={each} nameOf={nameOf} />
            ))}
          </ul>
        </div>
      ) : null}
    </div>
  );
}

const words = (reason: string): string => reason.replaceAll('_', ' ');

function Received({
  delivery,
  nameOf,
}: {
  readonly delivery: ReceivedDelivery;
  readonly nameOf: (connectionId: string) => string;
}) {
  const { at, ms, status, reason, says, subscriptionId, event, messageId, connectionId } = delivery;
  const tone = status === 200 ? 'good' : status === null || status >= 500 ? 'bad' : 'warn';
  return (
    <li>
      <Chip tone={tone}>{status ?? 'no answer'}</Chip>
      <span className={event === null ? '' : 'mono'}>{event ?? (reason === null ? '' : words(reason))}</span>
      <span className="soft">
        {says ?? (connectionId === null ? null : <bdi title={connectionId}>{nameOf(connectionId)}</bdi>)}
        {subscriptionId === '' || subscriptionId === 'default' ? null : ` at ${subscriptionId}`}
      </span>
      <span className="soft">
        <time dateTime={at}>{showDateTime(at)}</time> · {showDuration(ms)}
      </span>
      <JourneyLink id={messageId} />
    </li>
  );
}
