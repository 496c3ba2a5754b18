import { Link } from '@tanstack/react-router';
import type { ShownConnection } from '../../../../../src/contract/sandbox/connections.ts';
import { service } from '../../data/client.ts';
import { useAction } from '../../data/use-action.ts';
import { Field, Form, Submit } from '../../ui/form.tsx';
import { QrCode } from '../../ui/qr-code.tsx';

/** How the owner pairs: the QR code that is on offer, and a pairing code. */
export function Pairing({ connection }: { readonly connection: ShownConnection }) {
  const { id, workspaceId } = connection;
  return (
    <section aria-label="Pairing">
      <h2>Pairing</h2>
      <QrCode connection={connection}>
        {() => (
          <Link to="/phone/$id" params={{ id }} className="button main">
            Scan it with the phone
          </Link>
        )}
      </QrCode>
      <p className="soft">
        The service makes a new QR code for each read, so your program has to read it every 3 to 5 seconds.
      </p>
      <PairingCode call={{ params: { id }, headers: { 'x-workspace-id': workspaceId } }} />
    </section>
  );
}

function PairingCode({
  call,
}: {
  readonly call: { readonly params: { readonly id: string }; readonly headers: Record<string, string> };
}) {
  const request = useAction({
    mutationFn: (phoneNumber: string) =>
      service('POST', '/connections/{id}/pairing-code', { ...call, body: { phoneNumber } }),
  });
  return (
    <Form action={request} onSubmit={(fields) => request.mutate(String(fields.get('phoneNumber')))}>
      <Field
        name="phoneNumber"
        label="Phone number for a pairing code"
        className="field"
        inputMode="numeric"
        beside={<Submit>Request</Submit>}
      />
      <output>
        {request.data === undefined ? null : (
          <>
            Type <b className="mono">{request.data.code}</b> into the phone.
          </>
        )}
      </output>
    </Form>
  );
}
