import { useNavigate } from '@tanstack/react-router';
import { useId, useState } from 'react';
import type { CopyRequest, Delivery } from '../../../../../src/contract/sandbox/deliveries.ts';
import { SANDBOX_PREFIX, sandbox, shapeRequest } from '../../data/client.ts';
import { useAction } from '../../data/use-action.ts';
import { Button } from '../../ui/button.tsx';
import { CopyAs } from '../../ui/copy-as.tsx';
import { Form, Submit } from '../../ui/form.tsx';

const COPIES = '/deliveries/{id}/copies';

/** `Name: value` lines as headers. */
function readHeaders(text: string): Record<string, string> {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  return Object.fromEntries(
    lines.map((line) => {
      const [name = '', ...rest] = line.split(':');
      return [name.trim(), rest.join(':').trim()];
    }),
  );
}

/** Opened by a key, so that typing continues there. */
const focusIt = (field: HTMLElement | null): void => field?.focus();

/** Edits a copy of a delivery and sends it, signed afresh. The copy opens, marked as one. */
export function EditCopy({
  delivery,
  onClose,
}: {
  readonly delivery: Delivery;
  readonly onClose: () => void;
}) {
  const { id } = delivery;
  const fields = useId();
  const navigate = useNavigate();
  const [body, setBody] = useState(delivery.body);
  const [headers, setHeaders] = useState('');
  const copy: CopyRequest = { body, ...(headers.trim() === '' ? {} : { headers: readHeaders(headers) }) };
  const send = useAction({
    mutationFn: () => sandbox('POST', COPIES, { params: { id }, body: copy }),
    onSuccess: (sent) => {
      onClose();
      void navigate({ to: '/deliveries/$id', params: { id: sent.id }, search: true });
    },
  });
  return (
    <Form className="copy" label="Edit and send" action={send} onSubmit={() => send.mutate()}>
      <label htmlFor={`${fields}-body`}>Body</label>
      <textarea
        id={`${fields}-body`}
        ref={focusIt}
        className="field mono wide"
        spellCheck={false}
        rows={Math.min(16, body.split('\n').length + 6)}
        value={body}
        onChange={({ target }) => setBody(target.value)}
        onKeyDown={({ key, metaKey, ctrlKey }) => {
          if (key === 'Enter' && (metaKey || ctrlKey)) send.mutate();
          if (key === 'Escape') onClose();
        }}
      />
      <label htmlFor={`${fields}-headers`}>Headers to add or replace, one in a line</label>
      <textarea
        id={`${fields}-headers`}
        className="field mono wide"
        spellCheck={false}
        rows={2}
        placeholder="X-Trace-Id: 1"
        value={headers}
        onChange={({ target }) => setHeaders(target.value)}
      />
      <p className="soft">
        The copy gets a new timestamp and signature. It is marked as a copy, and changes nothing in the
        service.
      </p>
      <div className="line">
        <Submit kind="main">Sign and send</Submit>
        <Button onClick={onClose}>Cancel</Button>
        <CopyAs request={shapeRequest(SANDBOX_PREFIX, 'POST', COPIES, { params: { id }, body: copy })} />
      </div>
    </Form>
  );
}
