import { getRouteApi, useNavigate, useParams } from '@tanstack/react-router';
import type { ListedConnection } from '../../../../../src/contract/sandbox/connections.ts';
import { sandbox } from '../../data/client.ts';
import { useLiveList } from '../../data/use-live-list.ts';
import { Button } from '../../ui/button.tsx';
import { ConnectionState } from '../../ui/connection-state.tsx';
import { Form } from '../../ui/form.tsx';
import { PageHead } from '../../ui/page-head.tsx';
import { Split } from '../../ui/split.tsx';
import { type Column, FilteredTable } from '../../ui/table.tsx';
import { describeContact, type ListedContact } from './chats.ts';
import { ContactPhone } from './contact.tsx';
import { DevicePhone } from './device.tsx';
import './phone.css';

const route = getRouteApi('/phone');

export function PhoneScreen() {
  const { list, q = '' } = route.useSearch();
  const { id } = useParams({ strict: false });
  const List = list === 'contacts' ? Contacts : Connections;
  return (
    <Split
      closeTo="/phone"
      list={
        <>
          <div className="phone-kinds">
            <span className="tabs">
              <KindButton isOn={list === undefined} search={{}}>
                Connections
              </KindButton>
              <KindButton isOn={list === 'contacts'} search={{ list: 'contacts' }}>
                Contacts
              </KindButton>
            </span>
            <PageHead>
              <AnyContact />
            </PageHead>
          </div>
          <List key={q} q={q} id={id} />
        </>
      }
      detail={
        id === undefined ? undefined : /^\d+$/.test(id) ? (
          <ContactPhone key={id} phone={id} />
        ) : (
          <DevicePhone key={id} id={id} />
        )
      }
    />
  );
}

function KindButton({
  isOn,
  search,
  children,
}: {
  readonly isOn: boolean;
  readonly search: { readonly list?: 'contacts' };
  readonly children: string;
}) {
  const navigate = useNavigate();
  return (
    <button type="button" aria-pressed={isOn} onClick={() => void navigate({ to: '/phone', search })}>
      {children}
    </button>
  );
}

/** Opens the phone of any number: whoever writes becomes a contact. */
function AnyContact() {
  const navigate = useNavigate();
  return (
    <Form
      className="line"
      onSubmit={(fields) => {
        const digits = String(fields.get('phone')).replace(/\D/g, '');
        if (digits !== '')
          void navigate({ to: '/phone/$id', params: { id: digits }, search: { list: 'contacts' } });
      }}
    >
      <input
        className="field"
        aria-label="Number of any contact"
        placeholder="Any number"
        inputMode="numeric"
        size={14}
        name="phone"
      />
      <Button type="submit">Open phone</Button>
    </Form>
  );
}

interface ListProps {
  readonly q: string;
  readonly id: string | undefined;
}

const HINT = 'Create a connection on the screen Connections. Whoever writes to it becomes a contact.';

const CONNECTION_COLUMNS: readonly Column<ListedConnection>[] = [
  {
    heading: 'Number',
    width: '124px',
    cell: ({ phoneNumber }) =>
      phoneNumber === null ? (
        <span className="faint">not linked</span>
      ) : (
        <span className="mono">+{phoneNumber}</span>
      ),
  },
  { heading: 'Label', width: 'minmax(70px, 1fr)', cell: ({ label }) => <bdi>{label}</bdi> },
  { heading: 'State', width: '124px', cell: (row) => <ConnectionState connection={row} /> },
];

function Connections({ q, id }: ListProps) {
  const list = useLiveList<ListedConnection>({
    // The screen Connections orders its list in another way.
    key: `phones ${q}`,
    name: 'connections',
    pauses: false,
    idOf: (row) => row.id,
    read: (cursor) => sandbox('GET', '/connections', { query: { q, cursor, limit: '100' } }),
  });
  return (
    <FilteredTable
      q={q}
      tokens={[
        { key: 'status', hint: 'the status', values: ['connecting', 'connected', 'disconnected'] },
        { key: 'phone', hint: 'the number' },
        { key: 'workspace', hint: 'id of a workspace' },
        { key: 'outage', hint: 'an outage that has not ended' },
        { key: 'reconnect', hint: 'waits for its owner to pair again', values: ['yes', 'no'] },
      ]}
      label="Connections"
      kind="phone"
      title="There are no connections yet"
      hint={HINT}
      list={list}
      columns={CONNECTION_COLUMNS}
      selectedId={id}
      to="/phone/$id"
      search={q === '' ? {} : { q }}
    />
  );
}

const CONTACT_COLUMNS: readonly Column<ListedContact>[] = [
  { heading: 'Number', width: '124px', cell: ({ phone }) => <span className="mono">+{phone}</span> },
  {
    heading: 'Behavior',
    width: 'minmax(70px, 1fr)',
    cell: (row) => <span className="soft">{describeContact(row)}</span>,
  },
];

function Contacts({ q, id }: ListProps) {
  const list = useLiveList<ListedContact>({
    key: `contacts ${q}`,
    name: 'contacts',
    pauses: false,
    idOf: (row) => row.phone,
    read: (cursor) => sandbox('GET', '/contacts', { query: { q, cursor, limit: '100' } }),
  });
  return (
    <FilteredTable
      q={q}
      tokens={[
        { key: 'contact', hint: 'the number; may end in *' },
        { key: 'network', hint: 'has an account on the network', values: ['yes', 'no'] },
      ]}
      label="Contacts"
      kind="phone"
      title="There are no contacts yet"
      hint={HINT}
      list={list}
      columns={CONTACT_COLUMNS}
      selectedId={id}
      to="/phone/$id"
      search={{ list: 'contacts', ...(q === '' ? {} : { q }) }}
    />
  );
}
