import { getRouteApi, Link, useParams } from '@tanstack/react-router';
import type { ApiCall, CallKey } from '../../../../../src/contract/sandbox/calls.ts';
import { sandbox } from '../../data/client.ts';
import { useRead } from '../../data/read.ts';
import { useLiveList } from '../../data/use-live-list.ts';
import { About } from '../../ui/about.tsx';
import { Chip, type Tone } from '../../ui/chip.tsx';
import { CodeView } from '../../ui/code.tsx';
import type { QueryToken } from '../../ui/query-bar.tsx';
import { Split } from '../../ui/split.tsx';
import { Unread } from '../../ui/states.tsx';
import { type Column, FilteredTable } from '../../ui/table.tsx';
import { showDateTime, showDuration, Time } from '../../ui/times.tsx';
import './calls.css';

const route = getRouteApi('/calls');

const TOKENS = [
  { key: 'status', hint: 'HTTP status, or the beginning of one: 4*' },
  { key: 'method', hint: 'HTTP method', values: ['GET', 'POST', 'PUT', 'DELETE'] },
  { key: 'path', hint: 'path; may end in *' },
  { key: 'code', hint: 'error code of a refusal' },
  { key: 'credential', hint: 'id of a key, grant or client' },
  { key: 'tool', hint: 'tool of an agent' },
  { key: 'connection', hint: 'id of a connection' },
  { key: 'message', hint: 'id of a message' },
  { key: 'workspace', hint: 'id of a workspace' },
  { key: 'fault', hint: 'id of a fault rule' },
] as const satisfies readonly (QueryToken & { readonly key: CallKey })[];

function toneOf({ status }: ApiCall): Tone {
  if (status === null || status >= 500) return 'bad';
  return status >= 400 ? 'warn' : 'good';
}

const COLUMNS: readonly Column<ApiCall>[] = [
  {
    heading: 'Status',
    width: '52px',
    cell: (row) => <Chip tone={toneOf(row)}>{row.status ?? 'reset'}</Chip>,
  },
  { heading: 'Method', width: '54px', cell: ({ method }) => <span className="mono soft">{method}</span> },
  {
    heading: 'Path',
    width: 'minmax(60px, 2fr)',
    cell: ({ path, tool }) => (
      <span className="mono">
        {path}
        {tool === undefined ? '' : ` ${tool}`}
      </span>
    ),
  },
  {
    heading: 'Error',
    width: 'minmax(44px, 1fr)',
    cell: ({ code }) => <span className="mono">{code}</span>,
  },
  {
    heading: 'Credential',
    width: 'minmax(60px, 0.8fr)',
    isMinor: true,
    cell: ({ credential }) => (
      <span className="mono faint" title={credential ?? undefined}>
        {/* Ids begin alike, so they keep their ends. */}
        {credential?.replace(/^(.{4}).{5,}(.{4})$/, '$1…$2') ?? 'none'}
      </span>
    ),
  },
  { heading: 'Took', width: '62px', isMinor: true, align: 'end', cell: ({ ms }) => showDuration(ms) },
  { heading: 'Time', width: '60px', align: 'end', cell: ({ at }) => <Time iso={at} kind="virtual" /> },
];

export function CallsScreen() {
  const { q = '' } = route.useSearch();
  const { id } = useParams({ strict: false });
  const list = useLiveList<ApiCall>({
    key: `calls ${q}`,
    name: 'calls',
    isWhole: q === '',
    idOf: (row) => row.id,
    rowOf: (event) => (event.type === 'call' ? event.entry : undefined),
    read: (cursor) => sandbox('GET', '/calls', { query: { q, cursor, limit: '100' } }),
  });
  return (
    <Split
      closeTo="/calls"
      list={
        <FilteredTable
          q={q}
          tokens={TOKENS}
          label="Calls"
          kind="call"
          title="The service was not called yet"
          hint="Each call appears here with the reason for its response. Only the latest calls are kept."
          action={<Link to="/overview">Point your application at the service</Link>}
          list={list}
          columns={COLUMNS}
          selectedId={id}
          to="/calls/$id"
          messageOf={({ messageIds }) => messageIds?.[0]}
          timeOf={({ at }) => at}
        />
      }
      detail={id === undefined ? undefined : <CallDetail key={id} id={id} />}
    />
  );
}

/** A call: what it asked for, and every check that it passed or failed. */
function CallDetail({ id }: { readonly id: string }) {
  const { data, error } = useRead({
    queryKey: ['calls', id],
    queryFn: () => sandbox('GET', '/calls/{id}', { params: { id } }),
  });
  if (data === undefined) return <Unread error={error} label="Loading the call" />;
  const refusedBy = data.trace.find(({ passed }) => !passed);
  return (
    <div className="detail">
      <header>
        <div className="line">
          <Chip tone={toneOf(data)}>{data.status ?? 'reset'}</Chip>
          <h1 className="mono">
            {data.method} {data.path}
          </h1>
        </div>
        <p className="soft">
          {showDateTime(data.at)} virtual time · {showDuration(data.ms)}
        </p>
      </header>
      <section aria-label="Decision">
        <h2>{refusedBy === undefined ? 'Passed every check' : `Refused by the check ${refusedBy.check}`}</h2>
        <ol className="trace">
          {data.trace.map(({ check, passed, why }, place) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: the checks of a call never change
            <li key={place} data-passed={passed}>
              <span aria-hidden="true">{passed ? '✓' : '✕'}</span>
              <span className="mono">
                {check}
                <span className="visually-hidden">{passed ? ' passed' : ' refused'}</span>
              </span>
              <span className="soft">{why}</span>
            </li>
          ))}
        </ol>
        {data.faults === undefined ? null : <p>Affected by the fault {data.faults.join(', ')}.</p>}
      </section>
      {data.query === undefined ? null : <CodeView text={data.query} label="Query" />}
      {data.requestBody === undefined ? null : <CodeView text={data.requestBody} label="Request body" />}
      {data.responseBody === undefined ? null : <CodeView text={data.responseBody} label="Response body" />}
      <About
        facts={[
          ['Answer', data.code === null ? String(data.status ?? 'reset') : `${data.status} ${data.code}`],
          ['Credential', data.credential ?? 'none recognized'],
          ['Workspace', data.workspaceId ?? '–'],
          ['Connection', data.connectionId ?? '–'],
          [
            'Messages',
            data.messageIds?.map((messageId) => (
              <Link key={messageId} to="/journey/$id" params={{ id: messageId }} title="Show its journey">
                {messageId}{' '}
              </Link>
            )) ?? '–',
          ],
          ['Tool', data.tool ?? '–'],
        ]}
      />
    </div>
  );
}
