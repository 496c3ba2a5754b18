import { useMutation, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import type { ShownConnection } from '../../../contract/sandbox/connections.ts';
import { service } from '../../data/client.ts';
import { useRealNow } from '../../data/clock.ts';
import { Field, FormFailure } from '../../ui/form.tsx';
import { Failure } from '../../ui/states.tsx';
import { showSpan } from '../../ui/times.tsx';

/** Where the QR code that was read last is kept. No event reads it again: each read makes a new code. */
export const qrKey = (id: string): readonly string[] => ['qr', id];

/** How the owner pairs: the QR code that is on offer, and a pairing code. */
export function Pairing({ connection }: { readonly connection: ShownConnection }) {
  const { id, workspaceId } = connection;
  const call = { params: { id }, headers: { 'x-workspace-id': workspaceId } };
  const { data, error, isFetching, refetch } = useQuery({
    queryKey: qrKey(id),
    enabled: false,
    queryFn: async () => {
      const { qr } = (await service('GET', '/connections/{id}', call)).connection;
      return { qr, at: Date.now() };
    },
  });
  return (
    <section aria-label="Pairing">
      <h2>Pairing</h2>
      {data?.qr === undefined ? (
        <p className="soft">
          The service makes a new QR code for each read, so your program has to read it every 3 to 5 seconds.
        </p>
      ) : (
        <div className="qr">
          <img src={data.qr} width="132" height="132" alt="QR code for pairing" />
          <p className="soft">
            Read <Ago at={data.at} /> ago. The network rotates the code about every 20 seconds; an old one is
            refused.
          </p>
        </div>
      )}
      <div className="line">
        <button
          type="button"
          className="button"
          disabled={isFetching}
          onClick={() => void refetch({ cancelRefetch: false })}
        >
          {data === undefined ? 'Show QR code' : 'Read a new QR code'}
        </button>
        <Link to="/phone/$id" params={{ id }} className="button">
          Scan it with the phone
        </Link>
      </div>
      {error === null ? null : <Failure error={error} />}
      <PairingCode call={call} />
    </section>
  );
}

function Ago({ at }: { readonly at: number }) {
  return showSpan(useRealNow() - at);
}

function PairingCode({
  call,
}: {
  readonly call: { readonly params: { readonly id: string }; readonly headers: Record<string, string> };
}) {
  const [phoneNumber, setNumber] = useState('');
  const request = useMutation({
    mutationFn: () => service('POST', '/connections/{id}/pairing-code', { ...call, body: { phoneNumber } }),
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    request.mutate();
  };
  return (
    <form className="form" onSubmit={submit}>
      <Field name="phoneNumber" label="Phone number for a pairing code" error={request.error}>
        {(input) => (
          <span className="line">
            <input
              {...input}
              className="field"
              inputMode="numeric"
              autoComplete="off"
              value={phoneNumber}
              onChange={({ target }) => setNumber(target.value)}
            />
            <button type="submit" className="button" disabled={request.isPending}>
              Request
            </button>
          </span>
        )}
      </Field>
      <output>
        {request.data === undefined ? null : (
          <>
            Type <b className="mono">{request.data.code}</b> into the phone.
          </>
        )}
      </output>
      <FormFailure error={request.error} fields={['phoneNumber']} />
    </form>
  );
}
