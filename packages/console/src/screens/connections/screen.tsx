import { getRouteApi, useParams } from '@tanstack/react-router';
import Plus from 'lucide-react/icons/plus';
import { useRef, useState } from 'react';
import type { ConnectionKey, ListedConnection } from '../../../../../src/contract/sandbox/connections.ts';
import { sandbox } from '../../data/client.ts';
import { nameContact } from '../../data/numbers.ts';
import { useLiveList } from '../../data/use-live-list.ts';
import { Button } from '../../ui/button.tsx';
import { ConnectionState } from '../../ui/connection-state.tsx';
import { useKeys } from '../../ui/keys.ts';
import { PageHead } from '../../ui/page-head.tsx';
import type { QueryToken } from '../../ui/query-bar.tsx';
import { Split } from '../../ui/split.tsx';
import { type Column, FilteredTable } from '../../ui/table.tsx';
import { CreateConnection } from './create.tsx';
import { ConnectionDetail } from './detail.tsx';
import { LicenseEnd } from './license.tsx';
import { OUTAGES } from './states.ts';
import './connections.css';

const route = getRouteApi('/connections');

const TOKENS = [
  { key: 'status', hint: 'status', values: ['connecting', 'connected', 'disconnected'] },
  { key: 'reconnect', hint: 'its owner has to pair it again', values: ['yes', 'no'] },
  { key: 'outage', hint: 'cause of an outage that has not ended', values: Object.keys(OUTAGES) },
  { key: 'license', hint: 'status of the license', values: ['trial', 'active', 'expired', 'none'] },
  { key: 'ending', hint: 'its license expires within three days', values: ['yes', 'no'] },
  { key: 'provider', hint: 'provider', values: ['qr', 'cloud_api'] },
  { key: 'phone', hint: 'phone number; may end in *' },
  { key: 'workspace', hint: 'id of a workspace' },
  { key: 'connection', hint: 'id of a connection' },
] as const satisfies readonly (QueryToken & { readonly key: ConnectionKey })[];

const COLUMNS: readonly Column<ListedConnection>[] = [
  { heading: 'State', width: '92px', cell: (row) => <ConnectionState connection={row} /> },
  { heading: 'Label', width: 'minmax(90px, 2fr)', cell: ({ label }) => <bdi>{label}</bdi> },
  {
    heading: 'Number',
    width: 'minmax(96px, 1fr)',
    cell: ({ phoneNumber }) => (
      <span className="mono">{phoneNumber === null ? '–' : nameContact(phoneNumber)}</span>
    ),
  },
  {
    heading: 'Provider',
    width: '76px',
    isMinor: true,
    cell: ({ provider }) => <span className="mono soft">{provider}</span>,
  },
  {
    heading: 'License',
    width: 'minmax(100px, 0.8fr)',
    isMinor: true,
    cell: ({ licenseStatus, licenseExpires }) => (
      <LicenseEnd status={licenseStatus} expires={licenseExpires} />
    ),
  },
];

/** The page size makes the first page nearly always the whole list. */
const PAGE = '500';

export function ConnectionsScreen() {
  const { q = '' } = route.useSearch();
  const { id } = useParams({ strict: false });
  const [isCreating, setCreating] = useState(false);
  const opener = useRef<HTMLButtonElement>(null);
  const close = (): void => {
    setCreating(false);
    opener.current?.focus();
  };
  useKeys('Connections', [{ keys: 'c', label: 'New connection', run: () => setCreating(true) }]);
  const list = useLiveList<ListedConnection>({
    key: `connections ${q}`,
    name: 'connections',
    pauses: false,
    idOf: (row) => row.id,
    read: (cursor) => sandbox('GET', '/connections', { query: { q, cursor, limit: PAGE, order: 'newest' } }),
  });
  const create = (
    <Button
      ref={opener}
      kind="main"
      aria-keyshortcuts="c"
      aria-expanded={isCreating}
      onClick={() => setCreating(!isCreating)}
    >
      <Plus />
      New connection
    </Button>
  );
  return (
    <Split
      closeTo="/connections"
      list={
        <>
          <PageHead>{create}</PageHead>
          <FilteredTable
            q={q}
            tokens={TOKENS}
            label="Connections"
            kind="connection"
            title="There is no connection"
            hint="A connection is a phone number that is linked to the network. Press c to create one, or add one that is already paired:"
            action={<code>npm run sandbox -- pair 447700900150 Tests</code>}
            list={list}
            columns={COLUMNS}
            selectedId={id}
            to="/connections/$id"
          >
            {isCreating ? <CreateConnection onClose={close} /> : null}
          </FilteredTable>
        </>
      }
      detail={id === undefined ? undefined : <ConnectionDetail key={id} id={id} />}
    />
  );
}
