import { getRouteApi, Link, useParams } from '@tanstack/react-router';
import type { Delivery, DeliveryKey } from '../../../../../src/contract/sandbox/deliveries.ts';
import { sandbox } from '../../data/client.ts';
import { queries } from '../../data/live.ts';
import { useRead } from '../../data/read.ts';
import { useLiveList } from '../../data/use-live-list.ts';
import { Bulk } from '../../ui/bulk.tsx';
import { Chip } from '../../ui/chip.tsx';
import { showCount } from '../../ui/count.ts';
import { PageHead } from '../../ui/page-head.tsx';
import type { QueryToken } from '../../ui/query-bar.tsx';
import { Split } from '../../ui/split.tsx';
import { type Column, FilteredTable } from '../../ui/table.tsx';
import { Time } from '../../ui/times.tsx';
import { EVENTS, outcomeOf, summaryOf } from './describe.ts';
import { DeliveryDetail } from './detail.tsx';
import { resultOf } from './series.ts';
import { WEBHOOK, WebhookDetail } from './webhook.tsx';
import './deliveries.css';

const route = getRouteApi('/deliveries');

const TOKENS = [
  { key: 'status', hint: 'outcome', values: ['pending', 'delivered', 'dropped'] },
  { key: 'type', hint: 'type of the event', values: EVENTS },
  { key: 'message', hint: 'id of a message' },
  { key: 'connection', hint: 'id of a connection' },
  { key: 'workspace', hint: 'id of a workspace' },
  { key: 'webhook', hint: 'workspace or app that owns the webhook' },
  { key: 'reason', hint: 'why it was not sent', values: ['no_webhook', 'interrupted'] },
  { key: 'url', hint: 'address of the webhook' },
  { key: 'fault', hint: 'id of a fault rule' },
  { key: 'copy', hint: 'id of the delivery that was copied; copy:* for all copies' },
] as const satisfies readonly (QueryToken & { readonly key: DeliveryKey })[];

const COLUMNS: readonly Column<Delivery>[] = [
  {
    heading: 'Outcome',
    width: '76px',
    cell: (row) => {
      const { word, tone } = outcomeOf(row);
      return <Chip tone={tone}>{word}</Chip>;
    },
  },
  {
    heading: 'Event',
    width: 'minmax(92px, 168px)',
    cell: ({ event, copyOf }) => (
      <span className="mono">
        {event}
        {copyOf === undefined ? '' : ' (copy)'}
      </span>
    ),
  },
  {
    heading: 'About',
    width: 'minmax(80px, 2fr)',
    isMinor: true,
    cell: (row) => <bdi className="soft">{summaryOf(row)}</bdi>,
  },
  {
    heading: 'Attempts',
    width: 'minmax(54px, 84px)',
    cell: ({ attempts }) => <Dots attempts={attempts} />,
  },
  {
    heading: 'Time',
    width: '60px',
    align: 'end',
    cell: ({ createdAt }) => <Time iso={createdAt} kind="real" />,
  },
];

export function DeliveriesScreen() {
  const { q = '' } = route.useSearch();
  const { id } = useParams({ strict: false });
  const list = useLiveList<Delivery>({
    key: `deliveries ${q}`,
    name: 'deliveries',
    isWhole: q === '',
    idOf: (row) => row.id,
    rowOf: (event) => (event.type === 'delivery' ? event.entry : undefined),
    read: (cursor) => sandbox('GET', '/deliveries', { query: { q, cursor, limit: '100' } }),
  });
  return (
    <Split
      closeTo="/deliveries"
      list={
        <>
          <PageHead>
            <Link to="/deliveries/$id" params={{ id: WEBHOOK }} search={true} className="button">
              Webhook and tunnels
            </Link>
          </PageHead>
          <FilteredTable
            q={q}
            tokens={TOKENS}
            label="Deliveries"
            kind="delivery"
            title="Nothing was delivered yet"
            hint="Have a contact write to one of your numbers:"
            action={<code>npm run sandbox -- say 447700900101 447700900201 Hello</code>}
            list={list}
            columns={COLUMNS}
            selectedId={id === WEBHOOK ? undefined : id}
            to="/deliveries/$id"
            messageOf={({ messageId }) => messageId}
            timeOf={({ createdAt }) => createdAt}
          >
            {q === '' || list[0].error !== undefined ? null : <ResendAll key={q} q={q} />}
          </FilteredTable>
        </>
      }
      detail={
        id === undefined ? undefined : id === WEBHOOK ? (
          <WebhookDetail />
        ) : (
          <DeliveryDetail key={id} id={id} />
        )
      }
    />
  );
}

/** Ids of all deliveries that a filter finds. */
async function listMatching(q: string): Promise<readonly string[]> {
  const ids: string[] = [];
  for (let cursor: string | undefined, isLast = false; !isLast; ) {
    const { entries, nextCursor } = await sandbox('GET', '/deliveries', {
      query: { q, cursor, limit: '1000' },
    });
    ids.push(...entries.map(({ id }) => id));
    cursor = nextCursor;
    isLast = cursor === undefined;
  }
  return ids.toReversed();
}

/** Sends everything again that the filter finds, oldest first. */
function ResendAll({ q }: { readonly q: string }) {
  const { data } = useRead({
    queryKey: ['deliveries', 'matching', q],
    queryFn: () => sandbox('GET', '/deliveries/counts', { query: { q } }),
  });
  if (data === undefined) return null;
  const count = data.pending + data.delivered + data.dropped;
  return (
    <div className="line resend-all">
      <Bulk
        label={`Resend all ${count.toLocaleString('en')}`}
        question={`The webhooks receive ${showCount(count, 'delivery', 'deliveries')} again, the same bytes, oldest first.`}
        count={count}
        items={() => listMatching(q)}
        act={(id) => sandbox('POST', '/deliveries/{id}/resend', { params: { id }, body: {} })}
        onEnd={() => queries.invalidateQueries({ queryKey: ['deliveries'] })}
      />
    </div>
  );
}

/** More attempts than this are a number. */
const MOST_DOTS = 6;

/** One dot for each attempt, by its result; the detail has their times. */
function Dots({ attempts }: Pick<Delivery, 'attempts'>) {
  const label = attempts.map((attempt) => attempt.status ?? attempt.error ?? 'in flight').join(', ');
  return (
    <span className="dots" role="img" aria-label={label || 'none yet'} title={label}>
      {attempts.slice(-MOST_DOTS).map((attempt) => (
        <i key={`${attempt.at} ${attempt.ms}`} className={resultOf(attempt)} />
      ))}
      {attempts.length > MOST_DOTS ? <span className="faint"> {attempts.length}</span> : null}
    </span>
  );
}
