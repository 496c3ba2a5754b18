import { Link, useParams } from '@tanstack/react-router';
import Plus from 'lucide-react/icons/plus';
import type { ReactNode } from 'react';
import { useRead } from '../../data/read.ts';
import { Chip } from '../../ui/chip.tsx';
import { showCount } from '../../ui/count.ts';
import { PageHead } from '../../ui/page-head.tsx';
import { useDrawnRowKeys } from '../../ui/row-keys.ts';
import { Split } from '../../ui/split.tsx';
import { EmptyState, Unread } from '../../ui/states.tsx';
import { AppDetail, RegisterApp } from './app.tsx';
import { State } from './credential.tsx';
import { GrantDetail } from './grant.tsx';
import { CreateKey, KeyDetail } from './key.tsx';
import { APPS, GRANTS, showConnections, showScopes, WORKSPACES } from './lists.ts';
import './access.css';

/** Who may call the service: API keys, OAuth apps, and what customers granted to them. */
export function AccessScreen() {
  const { id } = useParams({ strict: false });
  return (
    <Split
      closeTo="/access"
      list={<Lists selectedId={id} />}
      detail={id === undefined ? undefined : <Detail key={id} id={id} />}
    />
  );
}

/** What is open: `key-1`, `app-1`, `grant-1`, or something new. */
function Detail({ id }: { readonly id: string }) {
  const [kind = '', ...rest] = id.split('-');
  const of = rest.join('-');
  switch (kind) {
    case 'key':
      return <KeyDetail id={of} />;
    case 'newkey':
      return <CreateKey workspaceId={of} />;
    case 'app':
      return <AppDetail clientId={of} />;
    case 'newapp':
      return <RegisterApp />;
    case 'grant':
      return <GrantDetail id={of} />;
    default:
      return <EmptyState title="There is no such credential" hint="Press Esc to return to the list." />;
  }
}

function Lists({ selectedId }: { readonly selectedId: string | undefined }) {
  const workspaces = useRead(WORKSPACES);
  const apps = useRead(APPS);
  const grants = useRead(GRANTS);
  useDrawnRowKeys('.access .row');
  const error = workspaces.error ?? apps.error ?? grants.error;
  if (workspaces.data === undefined || apps.data === undefined || grants.data === undefined)
    return <Unread error={error} label="Loading credentials" />;
  const nameOf = (clientId: string): string =>
    apps.data?.find((app) => app.clientId === clientId)?.name ?? clientId;
  const credentials = [workspaces.data.map(({ apiKeys }) => apiKeys), apps.data, grants.data].flat(2);
  const [own] = workspaces.data;
  return (
    <div className="access table-body" tabIndex={-1}>
      <PageHead count={credentials.length.toLocaleString('en')}>
        <Link to="/access/$id" params={{ id: 'newapp-1' }} className="button">
          Register app
        </Link>
        {own === undefined ? null : (
          <Link to="/access/$id" params={{ id: `newkey-${own.id}` }} className="button main">
            <Plus />
            Create key
          </Link>
        )}
      </PageHead>
      {workspaces.data.map((workspace) => (
        <Group
          key={workspace.id}
          title="API keys"
          of={`${workspace.kind === 'standalone' ? 'Workspace' : 'CRM portal'} ${workspace.id} · ${workspace.slots.used} of ${workspace.slots.total} slots used`}
          action={
            workspace === own ? null : (
              <Link to="/access/$id" params={{ id: `newkey-${workspace.id}` }} className="button">
                Create key
              </Link>
            )
          }
          empty="This workspace has no API key."
        >
          {workspace.apiKeys.map((key) => (
            <Row key={key.id} id={`key-${key.id}`} selectedId={selectedId}>
              <span className="mono">{key.id}</span>
              <span>{showScopes(key.scopes)}</span>
              <span className="minor soft">
                {showConnections(key.connectionIds)}
                {key.ipAllowlist === null
                  ? ''
                  : `, ${showCount(key.ipAllowlist.length, 'address', 'addresses')}`}
              </span>
              <State revokedAt={key.revokedAt} />
            </Row>
          ))}
        </Group>
      ))}
      <Group title="OAuth apps" empty="No app is registered. Register one to try the consent page.">
        {apps.data.map((app) => (
          <Row key={app.clientId} id={`app-${app.clientId}`} selectedId={selectedId}>
            <bdi>{app.name}</bdi>
            <span>{showScopes(app.scopes)}</span>
            <span className="minor mono faint">{app.clientId}</span>
            <Chip>{app.webhookUrl === null ? 'no webhook' : 'webhook'}</Chip>
          </Row>
        ))}
      </Group>
      <Group
        title="Grants"
        empty="Nobody has granted access to an app yet. Send a browser to the authorization address with its client_id."
      >
        {grants.data.map((grant) => (
          <Row key={grant.id} id={`grant-${grant.id}`} selectedId={selectedId}>
            <bdi>{nameOf(grant.clientId)}</bdi>
            <span>{showScopes(grant.scopes)}</span>
            <span className="minor soft">
              {showConnections(grant.connectionIds)}, {showCount(grant.refreshes, 'refresh', 'refreshes')}
            </span>
            <State revokedAt={grant.revokedAt} />
          </Row>
        ))}
      </Group>
    </div>
  );
}

function Group({
  title,
  of,
  action,
  empty,
  children,
}: {
  readonly title: string;
  readonly of?: string;
  readonly action?: ReactNode;
  readonly empty: string;
  readonly children: readonly ReactNode[];
}) {
  return (
    <section aria-label={of === undefined ? title : `${title}, ${of}`}>
      <header>
        <h2>{title}</h2>
        <span className="faint cut">{of}</span>
        {action}
      </header>
      {children.length === 0 ? <p className="soft">{empty}</p> : <ul>{children}</ul>}
    </section>
  );
}

function Row({
  id,
  selectedId,
  children,
}: {
  readonly id: string;
  readonly selectedId: string | undefined;
  readonly children: ReactNode;
}) {
  return (
    <li>
      <Link
        to="/access/$id"
        params={{ id }}
        className="row"
        tabIndex={selectedId === undefined || id === selectedId ? 0 : -1}
      >
        {children}
      </Link>
    </li>
  );
}
