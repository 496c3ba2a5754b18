import { useNavigate } from '@tanstack/react-router';
import { useRef } from 'react';
import { service } from '../../data/client.ts';
import { useRead } from '../../data/read.ts';
import { useAction } from '../../data/use-action.ts';
import { Button } from '../../ui/button.tsx';
import { Field, Form, Submit } from '../../ui/form.tsx';
import { randomId } from '../../ui/random-id.ts';
import { takeFocus } from '../../ui/take-focus.ts';
import { WORKSPACES } from '../access/lists.ts';

/** Creates a connection over the API of the service, as an integration does, and opens it. */
export function CreateConnection({ onClose }: { readonly onClose: () => void }) {
  const navigate = useNavigate();
  // A repeated submit of the same label is the same connection.
  const tried = useRef<{ readonly label?: string; readonly key: string }>({ key: '' });
  const { data: workspaces = [] } = useRead(WORKSPACES);
  const create = useAction({
    mutationFn: (fields: FormData) => {
      const [label = '', workspace = ''] = ['label', 'x-workspace-id'].map((name) =>
        String(fields.get(name) ?? ''),
      );
      if (tried.current.label !== label) tried.current = { label, key: randomId() };
      return service('POST', '/connections', {
        body: label === '' ? {} : { label },
        headers: {
          'idempotency-key': tried.current.key,
          ...(workspace === '' ? {} : { 'x-workspace-id': workspace }),
        },
      });
    },
    onSuccess: ({ connection: { id } }) => {
      onClose();
      void navigate({ to: '/connections/$id', params: { id }, search: {} });
    },
  });
  return (
    <Form
      ref={takeFocus}
      className="create form"
      label="New connection"
      action={create}
      onSubmit={create.mutate}
      onKeyDown={(event) => event.key === 'Escape' && onClose()}
    >
      <Field
        name="label"
        label="Label"
        hint="Optional. Without one, the number is its label once it has paired."
        className="field"
      />
      {workspaces.length < 2 ? null : (
        <Field
          name="x-workspace-id"
          label="Workspace"
          className="field"
          options={[
            ['', 'The one that the sandbox starts with'],
            ...workspaces.map(
              ({ id, kind, slots }) => [id, `${id}, ${kind}, ${slots.available} slots free`] as const,
            ),
          ]}
        />
      )}
      <div className="line">
        <Submit kind="main">Create</Submit>
        <Button kind="quiet" onClick={onClose}>
          Cancel
        </Button>
      </div>
    </Form>
  );
}
