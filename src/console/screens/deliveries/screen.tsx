import { getRouteApi, useParams } from '@tanstack/react-router';
import type { Delivery, DeliveryKey } from '../../../contract/sandbox/deliveries.ts';
import { sandbox } from '../../data/client.ts';
import { useLiveList } from '../../data/use-live-list.ts';
import { Chip } from '../../ui/chip.tsx';
import { QueryBar, type QueryToken } from '../../ui/query-bar.tsx';
import { Split } from '../../ui/split.tsx';
import { type Column, EmptyList, Table } from '../../ui/table.tsx';
import { Time } from '../../ui/times.tsx';
import { EVENTS, outcomeOf, summaryOf } from './describe.ts';
import { DeliveryDetail } from './detail.tsx';
import { groupAttempts } from './series.ts';
import { Axis, ROW_AXIS_MS, Waterfall } from './waterfall.tsx';

const route = getRouteApi('/deliveries');

const TOKENS = [
  { key: 'status', hint: 'outcome', values: ['pending', 'delivered', 'dropped'] },
  {
    key: 'type',
    hint: 'type of the event',
    values: EVENTS,
  },
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
    width: 'minmax(92px, 156px)',
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
    heading: <Axis axis={ROW_AXIS_MS} />,
    width: 'minmax(54px, 0.8fr)',
    cell: ({ createdAt, attempts }) => (
      <Waterfall series={groupAttempts(createdAt, attempts)[0]} axis={ROW_AXIS_MS} />
    ),
  },
  {
    heading: 'Tries',
    width: '38px',
    isMinor: true,
    align: 'end',
    cell: ({ attempts }) => <span className="soft">{attempts.length}</span>,
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
          <QueryBar value={q} tokens={TOKENS} error={list[0].error} />
          <Table
            label="Deliveries"
            list={list}
            columns={COLUMNS}
            selectedId={id}
            to="/deliveries/$id"
            messageOf={({ messageId }) => messageId}
            timeOf={({ createdAt }) => createdAt}
            empty={
              <EmptyList
                q={q}
                kind="delivery"
                title="Nothing was delivered yet"
                hint="Have a contact write to one of your numbers:"
                action={<code>npm run sandbox -- say 447700900101 447700900201 Hello</code>}
              />
            }
          />
        </>
      }
      detail={id === undefined ? undefined : <DeliveryDetail key={id} id={id} />}
    />
  );
}
