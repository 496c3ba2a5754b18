import { keepPreviousData, useMutation, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type FormEvent, type ReactNode, useState } from 'react';
import type { ListedConnection, ScanRequest } from '../../../contract/sandbox/connections.ts';
import { sandbox, service } from '../../data/client.ts';
import { useVirtualNow } from '../../data/clock.ts';
import { EmptyState, Failure, Loading } from '../../ui/states.tsx';
import { pictureOf } from './picture.ts';

/** How long the service accepts a QR code, in virtual time. */
const VALID_MS = 20_000;

/** Links a phone with a connection: by the QR code that the service shows, by a picture of one, or by a code. */
export function LinkDevice({ connection }: { readonly connection: ListedConnection }) {
  const { id, workspaceId, phoneNumber, status } = connection;
  const headers = { 'x-workspace-id': workspaceId };
  const [number, setNumber] = useState('');
  const scan = useMutation({
    mutationFn: (qr: string) => {
      const body: ScanRequest = { qr, ...(number === '' ? {} : { phoneNumber: number }) };
      return sandbox('POST', '/connections/{id}/scan', { params: { id }, body });
    },
  });
  const restart = useMutation({
    mutationFn: () => service('POST', '/connections/{id}/restart', { params: { id }, headers }),
  });
  if (status === 'disconnected') {
    return (
      <EmptyState
        title="This phone is not linked"
        hint="Restart the connection, so that it shows a QR code again."
        action={
          <>
            <button
              type="button"
              className="button main"
              disabled={restart.isPending}
              onClick={() => restart.mutate()}
            >
              Restart connection
            </button>
            {restart.error === null ? null : <Failure error={restart.error} />}
          </>
        }
      />
    );
  }
  return (
    <div className="link">
      <Offered connection={connection} onScan={(qr) => scan.mutate(qr)} isPending={scan.isPending}>
        {phoneNumber === null ? (
          <label>
            Number of this phone
            <input
              className="field"
              inputMode="numeric"
              placeholder="any free number"
              value={number}
              onChange={({ target }) => setNumber(target.value.replace(/\D/g, ''))}
            />
          </label>
        ) : null}
      </Offered>
      {scan.error === null ? null : <Failure error={scan.error} />}
      <Screenshot onPicture={(qr) => scan.mutate(qr)} />
      <ByCode id={id} />
    </div>
  );
}

/** The QR code that the service offers, and how long it is still accepted. */
function Offered({
  connection: { id, workspaceId },
  onScan,
  isPending,
  children,
}: {
  readonly connection: ListedConnection;
  readonly onScan: (qr: string) => void;
  readonly isPending: boolean;
  readonly children: ReactNode;
}) {
  const time = useVirtualNow();
  const [turn, setTurn] = useState(1);
  const { data, error, refetch, isFetching } = useQuery({
    queryKey: ['pairing', id, turn],
    queryFn: async () => {
      const headers = { 'x-workspace-id': workspaceId };
      const { connection } = await service('GET', '/connections/{id}', { params: { id }, headers });
      return { qr: connection.qr ?? null, at: Date.parse((await sandbox('GET', '/clock')).now) };
    },
    // Read once: a code grows old, and only its reader asks for the next.
    enabled: ({ state }) => state.data === undefined,
    placeholderData: keepPreviousData,
    gcTime: 0,
  });
  if (error !== null) return <Failure error={error} onRetry={() => void refetch()} />;
  if (data === undefined) return <Loading label="Loading the QR code" />;
  const { qr, at } = data;
  const left = Math.min(VALID_MS, Math.max(0, at + VALID_MS - (time?.now ?? at)));
  return (
    <section aria-label="QR code">
      <h2>Scan the QR code</h2>
      <div className="offer">
        {qr === null ? (
          <p className="soft">The service shows none now.</p>
        ) : (
          <img src={qr} alt="QR code" data-old={left === 0} />
        )}
        <div className="offer-side">
          <Ring left={left} />
          {children}
        </div>
      </div>
      <div className="line">
        <button
          type="button"
          className="button main"
          disabled={qr === null || isPending}
          onClick={() => qr !== null && onScan(qr)}
        >
          {left === 0 ? 'Scan it anyway' : 'Scan'}
        </button>
        <button type="button" className="button" disabled={isFetching} onClick={() => setTurn(turn + 1)}>
          Show next code
        </button>
      </div>
    </section>
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

/** Takes a picture of a QR code, as a screenshot of another page has one. */
function Screenshot({ onPicture }: { readonly onPicture: (qr: string) => void }) {
  const [error, setError] = useState<unknown>();
  const take = async (file: File | undefined): Promise<void> => {
    if (file === undefined) return;
    setError(undefined);
    await pictureOf(file).then(onPicture, setError);
  };
  return (
    <section
      aria-label="Screenshot"
      className="drop"
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => {
        event.preventDefault();
        void take(event.dataTransfer.files[0]);
      }}
      onPaste={({ clipboardData }) => void take(clipboardData.files[0])}
    >
      <h2>Or a screenshot</h2>
      <p className="soft">Drop or paste a picture of the QR code that your program shows.</p>
      <input
        type="file"
        accept="image/*"
        aria-label="Picture of a QR code"
        onChange={({ target }) => {
          void take(target.files?.[0]);
          target.value = '';
        }}
      />
      {error === undefined ? null : <Failure error={error} />}
    </section>
  );
}

/** Types the pairing code that the service returned to whoever requested it. */
function ByCode({ id }: { readonly id: string }) {
  const [code, setCode] = useState('');
  const enter = useMutation({
    mutationFn: () => sandbox('POST', '/connections/{id}/enter-code', { params: { id }, body: { code } }),
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    enter.mutate();
  };
  return (
    <form aria-label="Link by code" onSubmit={submit}>
      <h2>Or a pairing code</h2>
      <p className="soft">
        Your program requests one, or{' '}
        <Link to="/connections/$id" params={{ id }}>
          the connection
        </Link>{' '}
        does.
      </p>
      <div className="line">
        <input
          className="field mono"
          aria-label="Pairing code"
          placeholder="XXXX-XXXX"
          autoComplete="off"
          required
          value={code}
          onChange={({ target }) => setCode(target.value)}
        />
        <button type="submit" className="button" disabled={enter.isPending}>
          Link with code
        </button>
      </div>
      {enter.error === null ? null : <Failure error={enter.error} />}
    </form>
  );
}
