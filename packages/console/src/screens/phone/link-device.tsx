import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import type { ListedConnection, ScanRequest } from '../../../../../src/contract/sandbox/connections.ts';
import { sandbox, service } from '../../data/client.ts';
import { useAction } from '../../data/use-action.ts';
import { Button } from '../../ui/button.tsx';
import { Form, Submit } from '../../ui/form.tsx';
import { QrCode } from '../../ui/qr-code.tsx';
import { EmptyState, Failure } from '../../ui/states.tsx';
import { pictureOf } from './picture.ts';

/** Links a phone with a connection: by the QR code that the service shows, by a picture of one, or by a code. */
export function LinkDevice({ connection }: { readonly connection: ListedConnection }) {
  const { id, workspaceId, phoneNumber, status } = connection;
  const headers = { 'x-workspace-id': workspaceId };
  const [number, setNumber] = useState('');
  const scan = useAction({
    mutationFn: (qr: string) => {
      const body: ScanRequest = { qr, ...(number === '' ? {} : { phoneNumber: number }) };
      return sandbox('POST', '/connections/{id}/scan', { params: { id }, body });
    },
  });
  const restart = useAction({
    mutationFn: () => service('POST', '/connections/{id}/restart', { params: { id }, headers }),
  });
  if (status === 'disconnected') {
    return (
      <EmptyState
        title="This phone is not linked"
        hint="Restart the connection, so that it shows a QR code again."
        action={
          <>
            <Button kind="main" action={restart}>
              Restart connection
            </Button>
            <Failure error={restart.error} />
          </>
        }
      />
    );
  }
  return (
    <div className="link">
      <section aria-label="QR code">
        <h2>Scan the QR code</h2>
        <QrCode connection={connection}>
          {(qr, isOld) => (
            <Button kind="main" action={scan} input={qr}>
              {isOld ? 'Scan it anyway' : 'Scan'}
            </Button>
          )}
        </QrCode>
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
      </section>
      <Failure error={scan.error} />
      <Screenshot onPicture={(qr) => scan.mutate(qr)} />
      <ByCode id={id} />
    </div>
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
      <Failure error={error} />
    </section>
  );
}

/** Types the pairing code that the service returned to whoever requested it. */
function ByCode({ id }: { readonly id: string }) {
  const enter = useAction({
    mutationFn: (code: string) =>
      sandbox('POST', '/connections/{id}/enter-code', { params: { id }, body: { code } }),
  });
  return (
    <Form
      className=""
      label="Link by code"
      action={enter}
      onSubmit={(fields) => enter.mutate(String(fields.get('code')))}
    >
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
          name="code"
          required
        />
        <Submit>Link with code</Submit>
      </div>
    </Form>
  );
}
