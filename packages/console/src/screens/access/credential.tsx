import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useAction } from '../../data/use-action.ts';
import { Chip } from '../../ui/chip.tsx';
import { Confirmed } from '../../ui/menu.tsx';
import { Failure } from '../../ui/states.tsx';

/** Whether a credential is valid, in one word. */
export function State({ revokedAt }: { readonly revokedAt: string | null }) {
  return revokedAt === null ? <Chip tone="good">valid</Chip> : <Chip>revoked</Chip>;
}

/** What a credential is, its calls, and its end. */
export function CredentialHeader({
  id,
  revokedAt,
  children,
  calls,
  question,
  revoke,
}: {
  readonly id: string;
  readonly revokedAt: string | null;
  readonly children: ReactNode;
  /** Label of the link to its calls. */
  readonly calls: string;
  /** Asked before it is revoked. */
  readonly question: string;
  readonly revoke: () => Promise<unknown>;
}) {
  const end = useAction({ mutationFn: revoke });
  return (
    <header>
      <div className="line">
        <State revokedAt={revokedAt} />
        <h1 className="mono">{id}</h1>
      </div>
      <p className="soft">{children}</p>
      <div className="line">
        <Link to="/calls" search={{ q: `credential:${id}` }}>
          {calls}
        </Link>
        {revokedAt === null ? <Confirmed label="Revoke" question={question} action={end} /> : null}
      </div>
      <Failure error={end.error} />
    </header>
  );
}
