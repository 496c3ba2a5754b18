import { Link } from '@tanstack/react-router';
import type { Scope } from '../../../../../src/contract/service/scopes.ts';
import { sandbox } from '../../data/client.ts';
import { useVirtualNow } from '../../data/clock.ts';
import { queries } from '../../data/live.ts';
import { useRead } from '../../data/read.ts';
import { useAction } from '../../data/use-action.ts';
import { Chip } from '../../ui/chip.tsx';
import { showCount } from '../../ui/count.ts';
import { Form, Submit, Ticked } from '../../ui/form.tsx';
import { EmptyState, Unread } from '../../ui/states.tsx';
import { showDateTime } from '../../ui/times.tsx';
import { CredentialHeader } from './credential.tsx';
import { GRANTS, type Grant } from './lists.ts';

/** What a customer granted to an app, and the family of its refresh tokens. */
export function GrantDetail({ id }: { readonly id: string }) {
  const { data, error } = useRead(GRANTS);
  const reread = (): Promise<void> => queries.invalidateQueries(GRANTS);
  const narrow = useAction({
    mutationFn: (form: FormData) =>
      sandbox('PATCH', '/grants/{id}', {
        params: { id },
        body: {
          scopes: form.getAll('scopes').map(String) as Scope[],
          connectionIds: form.getAll('connectionIds').map(String),
        },
      }),
    onSuccess: reread,
  });
  if (data === undefined) return <Unread error={error} label="Loading the grant" />;
  const grant = data.find((each) => each.id === id);
  if (grant === undefined)
    return <EmptyState title="There is no such grant" hint="Press Esc to return to the list." />;
  const isRevoked = grant.revokedAt !== null;
  return (
    <div className="detail">
      <CredentialHeader
        id={id}
        revokedAt={grant.revokedAt}
        calls="Calls with this grant"
        question="Its tokens end with the next call. The customer must consent again."
        revoke={() => sandbox('DELETE', '/grants/{id}', { params: { id } }).then(reread)}
      >
        <Link to="/access/$id" params={{ id: `app-${grant.clientId}` }} className="mono">
          {grant.clientId}
        </Link>{' '}
        in {grant.workspaceId} · granted {showDateTime(grant.createdAt)} virtual time
      </CredentialHeader>
      {isRevoked ? null : (
        <Form label="What it may do" action={narrow} onSubmit={narrow.mutate}>
          <Ticked
            key={grant.scopes.join()}
            name="scopes"
            label="Scopes"
            values={grant.scopes}
            ticked={grant.scopes}
          />
          <Ticked
            key={grant.connectionIds.join('')}
            name="connectionIds"
            label="Connections"
            values={grant.connectionIds}
            ticked={grant.connectionIds}
          />
          <div className="line">
            <Submit kind="main">Narrow</Submit>
            <span className="soft">A grant can only be reduced; more needs another consent.</span>
          </div>
        </Form>
      )}
      <Family grant={grant} />
    </div>
  );
}

function Family({ grant: { refreshTokens, refreshes, revokedAt } }: { readonly grant: Grant }) {
  const time = useVirtualNow();
  const stateOf = ({ expiresAt, usedAt }: Grant['refreshTokens'][number]) => {
    if (usedAt !== null) return { state: 'replaced', when: usedAt };
    if (revokedAt !== null) return { state: 'revoked', when: revokedAt };
    const isOver = time !== undefined && Date.parse(expiresAt) <= time.now;
    return { state: isOver ? 'expired' : 'usable', when: expiresAt };
  };
  return (
    <section aria-label="Refresh tokens">
      <h2>Refresh tokens, refreshed {showCount(refreshes, 'time')}</h2>
      {refreshTokens.length === 0 ? <p className="soft">None was issued.</p> : null}
      <ol className="family">
        {refreshTokens.map((token) => {
          const { state, when } = stateOf(token);
          const isUsable = state === 'usable';
          return (
            <li key={`${token.expiresAt}${token.usedAt}`}>
              <Chip tone={isUsable ? 'good' : 'plain'}>{state}</Chip>
              <span className="soft">
                {isUsable ? 'until' : 'at'} {showDateTime(when)}
              </span>
            </li>
          );
        })}
      </ol>
    </section>
  );
}
