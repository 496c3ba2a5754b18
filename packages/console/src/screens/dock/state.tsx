import { sandbox } from '../../data/client.ts';
import { useAction } from '../../data/use-action.ts';
import { Button } from '../../ui/button.tsx';
import { Field, Form, Submit } from '../../ui/form.tsx';
import { Confirmed } from '../../ui/menu.tsx';
import { Failure, ReadFailure } from '../../ui/states.tsx';
import { takeFocus } from '../../ui/take-focus.ts';
import { showDateTime } from '../../ui/times.tsx';
import {
  LOST,
  removeSnapshot,
  rereadSnapshots,
  restoreSnapshot,
  startOver,
  useSnapshots,
} from './snapshots.ts';
import './dock.css';

/** The state of the whole sandbox: it is saved and restored here, and begins anew. */
export function StatePane() {
  const { data = [], error } = useSnapshots();
  const save = useAction({
    mutationFn: (label: string) => sandbox('POST', '/snapshots', { body: label === '' ? {} : { label } }),
    onSuccess: rereadSnapshots,
  });
  const remove = useAction({ mutationFn: removeSnapshot, onSuccess: rereadSnapshots });
  /** Restores a saved state or, without an id, the one in which the sandbox begins. The answer says what became of it. */
  const replace = useAction({
    async mutationFn(id: string | null) {
      if (id === null) await sandbox('POST', '/reset');
      const { label, now } = id === null ? { label: null, now: null } : await restoreSnapshot(id);
      return now === null
        ? 'Reset. The API key is another one: copy the .env from the overview.'
        : `Restored: ${label ?? id}. It is ${showDateTime(now)} virtual time again.`;
    },
    onSuccess: startOver,
  });
  const isBusy = save.isPending || replace.isPending || remove.isPending;
  if (error !== null) return <ReadFailure error={error} />;
  return (
    <div className="dock-grid" ref={takeFocus}>
      <section aria-label="Saved states">
        <h2>Saved states</h2>
        <Form
          label="Save the state"
          action={{ error: save.error, isPending: isBusy }}
          onSubmit={(fields) => save.mutate(String(fields.get('label')).trim())}
        >
          <Field
            name="label"
            label="Name"
            hint="Waits until nothing is in progress. It is kept until the sandbox stops, also through a reset."
            className="field wide"
            placeholder="numbers and webhook are ready"
            beside={<Submit>Save the state</Submit>}
          />
        </Form>
        <ul className="rules">
          {data.toReversed().map(({ id, label, now }) => (
            <li key={id}>
              <bdi>{label ?? id}</bdi>
              <span className="faint">{showDateTime(now)}</span>
              <span>
                <Confirmed
                  label="Restore"
                  question={`It is ${showDateTime(now)} virtual time again. Everything since then is lost: ${LOST}`}
                  action={replace}
                  input={id}
                  isPending={isBusy}
                />
              </span>
              <Button kind="quiet" action={remove} input={id} isPending={isBusy}>
                Remove<span className="visually-hidden"> {label ?? id}</span>
              </Button>
            </li>
          ))}
        </ul>
        <Failure error={remove.error} />
      </section>
      <section aria-label="Reset">
        <h2>Reset</h2>
        <p className="soft">Begins anew with four numbers and another API key. Virtual time is kept.</p>
        <div>
          <Confirmed
            label="Reset the sandbox"
            question="Everything but the saved states is lost: workspaces, keys, apps, connections, messages, deliveries, calls, faults and tunnels, and what the attached connector has stored. The API key of your .env becomes invalid."
            action={replace}
            input={null}
            isPending={isBusy}
          />
        </div>
        <p role="status">{replace.isPending ? 'In progress …' : replace.data}</p>
        <Failure error={replace.error} />
      </section>
    </div>
  );
}
