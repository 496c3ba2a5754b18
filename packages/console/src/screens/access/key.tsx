import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import type { ApiKeyAccess } from '../../../../../src/contract/sandbox/access.ts';
import type { Scope } from '../../../../../src/contract/service/scopes.ts';
import { sandbox } from '../../data/client.ts';
import { queries } from '../../data/live.ts';
import { useRead } from '../../data/read.ts';
import { useAction } from '../../data/use-action.ts';
import { Chip } from '../../ui/chip.tsx';
import { Field, Form, Submit, Ticked } from '../../ui/form.tsx';
import { EmptyState, Unread } from '../../ui/states.tsx';
import { takeFocus } from '../../ui/take-focus.ts';
import { showDateTime } from '../../ui/times.tsx';
import { CredentialHeader } from './credential.tsx';
import { connectionsOf, readEntries, SCOPES, WORKSPACES } from './lists.ts';
import { Secrets } from './secrets.tsx';

type Limits = Pick<ApiKeyAccess, 'scopes' | 'ipAllowlist' | 'connectionIds'>;

const UNLIMITED: Limits = { scopes: [...SCOPES], ipAllowlist: null, connectionIds: null };

function readLimits(data: FormData): Limits {
  const all = (name: string): string[] => data.getAll(name).map(String);
  return {
    scopes: all('scopes') as Scope[],
    ipAllowlist: readEntries(String(data.get('ipAllowlist'))),
    connectionIds: data.get('limited') === null ? null : all('connectionIds'),
  };
}

/** An API key: what it may do, and from where. */
export function KeyDetail({ id }: { readonly id: string }) {
  const { data, error } = useRead(WORKSPACES);
  const reread = (): Promise<void> => queries.invalidateQueries(WORKSPACES);
  const change = useAction({
    mutationFn: (body: Limits) => sandbox('PATCH', '/api-keys/{id}', { params: { id }, body }),
    onSuccess: reread,
  });
  if (data === undefined) return <Unread error={error} label="Loading the key" />;
  const workspace = data.find(({ apiKeys }) => apiKeys.some((each) => each.id === id));
  const key = workspace?.apiKeys.find((each) => each.id === id);
  if (workspace === undefined || key === undefined)
    return <EmptyState title="There is no such key" hint="Press Esc to return to the list." />;
  const isRevoked = key.revokedAt !== null;
  return (
    <div className="detail">
      <CredentialHeader
        id={id}
        revokedAt={key.revokedAt}
        calls="Calls of this key"
        question="Every later call with this key is refused. This cannot be undone."
        revoke={() => sandbox('DELETE', '/api-keys/{id}', { params: { id } }).then(reread)}
      >
        SHA-256 begins with <span className="mono">{key.hint}</span> · created {showDateTime(key.createdAt)}{' '}
        virtual time
      </CredentialHeader>
      {isRevoked ? null : (
        <LimitsForm
          workspaceId={workspace.id}
          limits={key}
          submit="Save"
          action={change}
          done={change.isSuccess ? 'Takes effect on the next call.' : ''}
        />
      )}
      <TryAddress id={id} />
    </div>
  );
}

/** A new API key, shown once. */
export function CreateKey({ workspaceId }: { readonly workspaceId: string }) {
  const create = useAction({
    mutationFn: ({ scopes, ipAllowlist, connectionIds }: Limits) =>
      sandbox('POST', '/workspaces/{id}/api-keys', {
        params: { id: workspaceId },
        body: {
          scopes,
          ...(ipAllowlist === null ? {} : { ipAllowlist }),
          ...(connectionIds === null ? {} : { connectionIds }),
        },
      }),
    onSuccess: () => queries.invalidateQueries(WORKSPACES),
  });
  return (
    <div className="detail" ref={takeFocus}>
      <header>
        <h1>New API key</h1>
        <p className="soft mono">{workspaceId}</p>
      </header>
      {create.data === undefined ? (
        <LimitsForm
          workspaceId={workspaceId}
          limits={UNLIMITED}
          submit="Create key"
          action={create}
          done=""
        />
      ) : (
        <>
          <Secrets secrets={[['API key', create.data.key]]} />
          <Link to="/access/$id" params={{ id: `key-${create.data.id}` }}>
            Open the key
          </Link>
        </>
      )}
    </div>
  );
}

function LimitsForm({
  workspaceId,
  limits,
  submit,
  action,
  done,
}: {
  readonly workspaceId: string;
  readonly limits: Limits;
  readonly submit: string;
  readonly action: Pick<ReturnType<typeof useAction<unknown, Limits>>, 'error' | 'isPending' | 'mutate'>;
  readonly done: string;
}) {
  const { scopes, ipAllowlist, connectionIds } = limits;
  return (
    <Form label="What it may do" action={action} onSubmit={(fields) => action.mutate(readLimits(fields))}>
      <LimitFields
        key={JSON.stringify([scopes, ipAllowlist, connectionIds])}
        workspaceId={workspaceId}
        limits={limits}
      />
      <div className="line">
        <Submit kind="main">{submit}</Submit>
        <span className="soft" role="status">
          {done}
        </span>
      </div>
    </Form>
  );
}

function LimitFields({ workspaceId, limits }: { readonly workspaceId: string; readonly limits: Limits }) {
  const connections = useRead(connectionsOf(workspaceId)).data ?? [];
  const [isLimited, setLimited] = useState(limits.connectionIds !== null);
  return (
    <>
      <Ticked name="scopes" label="Scopes" values={SCOPES} ticked={limits.scopes} />
      <label className="tick">
        <input
          type="checkbox"
          name="limited"
          checked={isLimited}
          onChange={({ target }) => setLimited(target.checked)}
        />
        Limit it to some connections
      </label>
      {isLimited ? (
        <Ticked
          name="connectionIds"
          label="Connections"
          values={[...new Set([...(limits.connectionIds ?? []), ...connections.map(({ id }) => id)])]}
          ticked={limits.connectionIds ?? []}
          hintOf={(id) => <bdi>{connections.find((each) => each.id === id)?.phoneNumber ?? ''}</bdi>}
        />
      ) : null}
      <Field
        name="ipAllowlist"
        label="Addresses"
        hint="IPv4 or IPv6 addresses, or CIDR ranges. Empty: from anywhere."
        className="field mono"
        rows={2}
        defaultValue={limits.ipAllowlist?.join('\n')}
      />
    </>
  );
}

/** Whether the key could be used from an address. */
function TryAddress({ id }: { readonly id: string }) {
  const attempt = useAction({
    mutationFn: (address: string) =>
      sandbox('POST', '/api-keys/{id}/try', { params: { id }, body: { address } }),
  });
  const { data } = attempt;
  const why = data?.entry == null ? 'The key has no allowlist.' : `Matches ${data.entry}.`;
  return (
    <Form
      label="Try an address"
      action={attempt}
      onSubmit={(fields) => attempt.mutate(String(fields.get('address')))}
    >
      <Field
        name="address"
        label="Try an address"
        className="field mono"
        placeholder="203.0.113.7"
        required
        beside={<Submit>Try</Submit>}
      />
      <p role="status">
        {data === undefined ? null : (
          <>
            <Chip tone={data.allowed ? 'good' : 'bad'}>{data.allowed ? 'accepted' : 'refused'}</Chip>{' '}
            <span className="soft">{data.allowed ? why : 'No entry of the allowlist matches.'}</span>
          </>
        )}
      </p>
    </Form>
  );
}
