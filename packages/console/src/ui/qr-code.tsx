import type { ReactNode } from 'react';
import type { ListedConnection } from '../../../../src/contract/sandbox/connections.ts';
import { sandbox, service } from '../data/client.ts';
import { useVirtualNow } from '../data/clock.ts';
import { useRead } from '../data/read.ts';
import { Button } from './button.tsx';
import { Unread } from './states.tsx';
import './qr-code.css';

/** How long the service accepts a QR code, in virtual time. */
const VALID_MS = 20_000;

/** The QR code that the service offers, how long it is still accepted, and what can be done with it. */
export function QrCode({
  connection: { id, workspaceId, status },
  children,
}: {
  readonly connection: Pick<ListedConnection, 'id' | 'workspaceId' | 'status'>;
  readonly children: (qr: string, isOld: boolean) => ReactNode;
}) {
  const time = useVirtualNow();
  const { data, error, refetch } = useRead({
    queryKey: ['qr', id, status],
    queryFn: async () => {
      const headers = { 'x-workspace-id': workspaceId };
      const { connection } = await service('GET', '/connections/{id}', { params: { id }, headers });
      return { qr: connection.qr ?? null, at: Date.parse((await sandbox('GET', '/clock')).now) };
    },
    // Read once: a code grows old, and only its reader asks for the next.
    enabled: ({ state }) => state.data === undefined,
    gcTime: 0,
  });
  if (data === undefined) return <Unread error={error} label="Loading the QR code" />;
  const { qr, at } = data;
  const left = Math.min(VALID_MS, Math.max(0, at + VALID_MS - (time?.now ?? at)));
  return (
    <div className="qr">
      {qr === null ? (
        <p className="soft">The service shows no QR code now. Restart the connection to get one.</p>
      ) : (
        <img src={qr} alt="QR code for pairing" data-old={left === 0} />
      )}
      {qr === null ? null : <Ring left={left} />}
      {qr === null ? null : children(qr, left === 0)}
      <Button kind="quiet" onClick={() => void refetch({ cancelRefetch: false })}>
        Show next code
      </Button>
    </div>
  );
}

const RADIUS = 9;
const ROUND = 2 * Math.PI * RADIUS;

function Ring({ left }: { readonly left: number }) {
  const words = left === 0 ? 'too old' : `valid for ${Math.ceil(left / 1_000)} s`;
  return (
    <p className="ring" role="timer">
      <svg viewBox="0 0 24 24" aria-hidden="true">
        <circle cx="12" cy="12" r={RADIUS} />
        <circle
          cx="12"
          cy="12"
          r={RADIUS}
          strokeDasharray={ROUND}
          strokeDashoffset={ROUND * (1 - left / VALID_MS)}
        />
      </svg>
      <span className={left === 0 ? 'bad' : 'soft'}>{words}</span>
    </p>
  );
}
