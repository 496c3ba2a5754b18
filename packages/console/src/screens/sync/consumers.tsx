import { useRef } from 'react';
import type {
  Consumer,
  ConsumerPosition,
  ConsumerState,
} from '../../../../../src/contract/connector/consumers.ts';
import { connector } from '../../data/client.ts';
import { mode, queries } from '../../data/live.ts';
import { useRead } from '../../data/read.ts';
import { useAction } from '../../data/use-action.ts';
import { ReadSection } from '../../ui/as-of.tsx';
import { Button } from '../../ui/button.tsx';
import { Chip, type Tone } from '../../ui/chip.tsx';
import { showCount } from '../../ui/count.ts';
import { Field, Form, Submit } from '../../ui/form.tsx';
import { closeMenu, Menu } from '../../ui/menu.tsx';
import { Failure } from '../../ui/states.tsx';
import { showSpan } from '../../ui/times.tsx';

/** The consumers with their progress. */
export const CONSUMERS = {
  queryKey: ['connector', 'consumers'],
  queryFn: () => connector('GET', '/v1/consumers', { query: { limit: '100' } }),
};
const TONES: Readonly<Record<ConsumerState, Tone>> = { running: 'good', paused: 'warn', disabled: 'bad' };

/** What receives the changes of the feed, and how far behind each is. */
export function Consumers() {
  const { data, error, ...figure } = useRead(CONSUMERS);
  return (
    <ReadSection id="consumers" label="Consumers" figures={[figure]} error={error}>
      {data?.consumers.length === 0 ? (
        <p className="soft">None: the CRM reads the feed. Set CONNECTOR_HANDLERS, or create one.</p>
      ) : null}
      <ul className="sync-rows" aria-label="Consumers">
        {data?.consumers.map((each) => (
          <Row key={each.name} consumer={each} />
        ))}
      </ul>
    </ReadSection>
  );
}

function Row({ consumer }: { readonly consumer: Consumer }) {
  const { name, kind, state, disabledReason, unavailable, lag, parked, deadLetters } = consumer;
  const isRunning = state === 'running';
  const change = useAction({
    mutationFn: () =>
      connector('POST', isRunning ? '/v1/consumers/{id}/pause' : '/v1/consumers/{id}/resume', {
        params: { id: name },
      }),
    onSettled: () => queries.invalidateQueries(CONSUMERS),
  });
  const lastError =
    disabledReason ??
    unavailable?.lastError ??
    parked.first.find((each) => each.lastError !== null)?.lastError;
  return (
    <li>
      <span>
        <b>{name}</b> <span className="faint">{kind}</span> <Chip tone={TONES[state]}>{state}</Chip>
        {unavailable === null ? null : <Chip tone="bad">unavailable</Chip>}
      </span>
      <span className="soft">
        {lag.changes === 0
          ? 'up to date'
          : `${showCount(lag.changes, 'change')} behind, ${showSpan(lag.seconds * 1_000)}`}
      </span>
      <span className="soft">
        {parked.count} parked, {showCount(deadLetters, 'dead letter')}
        <bdi className="bad"> {lastError}</bdi>
      </span>
      <span className="line">
        <Button disabled={!mode().write} action={change}>
          {isRunning ? 'Pause' : 'Resume'}
        </Button>
        <Replay name={name} />
        <Failure error={change.error} />
      </span>
    </li>
  );
}

/** Asks from where the consumer receives changes again. */
function Replay({ name }: { readonly name: string }) {
  const form = useRef<HTMLFormElement>(null);
  const replay = useAction({
    mutationFn: (from: ConsumerPosition) =>
      connector('POST', '/v1/consumers/{id}/replay', { params: { id: name }, body: { from } }),
    onSuccess: () => closeMenu(form.current),
    onSettled: () => queries.invalidateQueries(CONSUMERS),
  });
  return (
    <Menu label="Replay" disabled={!mode().write} className="confirm">
      <Form
        ref={form}
        label={`Replay ${name}`}
        action={replay}
        onSubmit={(fields) => {
          const from = String(fields.get('from')).trim();
          replay.mutate((/^\d+$/.test(from) ? Number(from) : from) as ConsumerPosition);
        }}
      >
        <Field
          name="from"
          label={`Deliver changes to ${name} again, from`}
          hint="beginning, the number of a change, or a time. now skips everything that waits."
          className="field mono"
          placeholder="2026-01-31T12:00:00Z"
          required
        />
        <Submit>Replay from there</Submit>
      </Form>
    </Menu>
  );
}
