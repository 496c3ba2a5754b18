import { useEffect, useState } from 'react';
import type { ConnectorConnection } from '../../../../../src/contract/connector/connections.ts';
import type { PairingEvent } from '../../../../../src/contract/connector/pairing.ts';
import { connector } from '../../data/client.ts';
import { nameOf } from '../../data/connections.ts';
import { mode } from '../../data/live.ts';
import { useRead } from '../../data/read.ts';
import { useAction } from '../../data/use-action.ts';
import { Button } from '../../ui/button.tsx';
import { NamedSection } from '../../ui/named.tsx';
import { Failure } from '../../ui/states.tsx';

/** The numbers that their owners must pair again, with the QR code to show to one of them. */
export function PairAgain() {
  // One at a time: its stream takes one of the six connections that a browser has to a server.
  const [shown, show] = useState<string>();
  const { data } = useRead({
    queryKey: ['connector', 'connections', 'broken'],
    queryFn: () =>
      connector('GET', '/v1/connections', { query: { health: 'needs_reconnect', limit: '1000' } }),
  });
  const broken = data?.connections ?? [];
  if (broken.length === 0) return null;
  return (
    <NamedSection id="pair-again" label="Numbers to pair">
      <h2>Numbers to be paired again</h2>
      <ul className="card rows">
        {broken.map((connection) => (
          <Broken
            key={connection.id}
            connection={connection}
            isShown={connection.id === shown}
            onRestarted={() => show(connection.id)}
          />
        ))}
      </ul>
      {data?.hasMore === true ? <p className="faint">The first {broken.length} are listed.</p> : null}
    </NamedSection>
  );
}

function Broken({
  connection,
  isShown,
  onRestarted,
}: {
  readonly connection: ConnectorConnection;
  readonly isShown: boolean;
  readonly onRestarted: () => void;
}) {
  const { id, reason } = connection;
  const restart = useAction({
    mutationFn: () => connector('POST', '/v1/connections/{id}/restart', { params: { id } }),
    onSuccess: onRestarted,
  });
  return (
    <li>
      <div>
        <b>
          <bdi>{nameOf(connection, id)}</bdi>
        </b>{' '}
        {reason === null ? null : <span className="chip">{reason}</span>}
        {isShown && restart.isSuccess ? <LiveCode id={id} /> : null}
        <Failure error={restart.error} />
      </div>
      <Button disabled={!mode().write} action={restart}>
        Restart and show QR code
      </Button>
    </li>
  );
}

const BROKEN: PairingEvent = {
  type: 'ended',
  reason: 'closing',
  message: 'The connection to the connector broke. Restart it once more.',
};

/** Each new QR code of a connection, until its number has paired. */
function LiveCode({ id }: { readonly id: string }) {
  const [event, setEvent] = useState<PairingEvent>();
  useEffect(() => {
    const source = new EventSource(`/connector/v1/connections/${encodeURIComponent(id)}/pairing`);
    source.onmessage = ({ data }: MessageEvent<string>) => {
      const next = JSON.parse(data) as PairingEvent;
      setEvent(next);
      // An event source would open the stream again.
      if (next.type === 'connected' || next.type === 'ended') source.close();
    };
    source.onerror = () => {
      // Meanwhile, the code grows old. After a refusal, the stream is not opened again.
      const isOver = source.readyState === EventSource.CLOSED;
      setEvent(isOver ? BROKEN : undefined);
    };
    return () => source.close();
  }, [id]);
  switch (event?.type) {
    case 'qr':
      return (
        <div className="qr">
          <img src={event.qr} alt="QR code for pairing" />
          <p className="soft">The owner scans it with the phone. It is replaced by each new one.</p>
        </div>
      );
    case 'connected':
      return <p>Paired.</p>;
    default:
      return <p className="soft">{event?.message ?? 'Waiting for the QR code.'}</p>;
  }
}
