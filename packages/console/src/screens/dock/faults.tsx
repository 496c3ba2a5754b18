import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { flushSync } from 'react-dom';
import type {
  FaultActionType,
  FaultRule,
  FaultSurface,
  Faults,
} from '../../../../../src/contract/sandbox/faults.ts';
import { SANDBOX_PREFIX, sandbox, shapeRequest } from '../../data/client.ts';
import { queries } from '../../data/live.ts';
import { useRead } from '../../data/read.ts';
import { useAction } from '../../data/use-action.ts';
import { FAULTS } from '../../data/webhooks.ts';
import { Button } from '../../ui/button.tsx';
import { CopyAs } from '../../ui/copy-as.tsx';
import { showCount } from '../../ui/count.ts';
import { Field, Form, Submit } from '../../ui/form.tsx';
import { Failure, Unread } from '../../ui/states.tsx';
import { takeFocus } from '../../ui/take-focus.ts';
import { EVENTS } from '../deliveries/describe.ts';
import {
  actionsOf,
  describeRule,
  hitsOf,
  LABELS,
  MATCHES,
  PARAMETERS,
  PRESETS,
  type Preset,
  readRule,
  SURFACES,
} from './rules.ts';
import './dock.css';

const store = (faults: Faults | undefined): void => {
  if (faults !== undefined) queries.setQueryData(FAULTS.queryKey, faults);
};

const remove = (id: string): Promise<Faults> => sandbox('DELETE', '/faults/{id}', { params: { id } });

/** The fault rules: the active ones with their hits, presets, and a custom rule. */
export function FaultsPane() {
  const { data, error } = useRead(FAULTS);
  if (data === undefined) return <Unread error={error} label="Loading the faults" />;
  return (
    <div className="dock-grid faults" ref={takeFocus}>
      <Presets armed={data.rules} />
      <Armed rules={data.rules} />
      <OwnRule />
    </div>
  );
}

function Presets({ armed }: { readonly armed: readonly FaultRule[] }) {
  const isArmed = ({ rules }: Preset): boolean =>
    rules.every((wanted) =>
      armed.some((rule) => rule.id === wanted.id && describeRule(rule) === describeRule(wanted)),
    );
  const toggle = useAction({
    mutationFn: async (preset: Preset) => {
      let faults: Faults | undefined;
      const wasArmed = isArmed(preset);
      for (const rule of preset.rules)
        faults = wasArmed ? await remove(rule.id) : await sandbox('POST', '/faults', { body: rule });
      return faults;
    },
    onSuccess: store,
  });
  return (
    <section aria-label="Presets">
      <h2>Presets</h2>
      <ul className="presets">
        {PRESETS.map((preset) => (
          <li key={preset.label}>
            <Button aria-pressed={isArmed(preset)} action={toggle} input={preset}>
              {preset.label}
            </Button>
            <span className="soft">{preset.says}</span>
          </li>
        ))}
      </ul>
      <Failure error={toggle.error} />
    </section>
  );
}

function Armed({ rules }: { readonly rules: readonly FaultRule[] }) {
  const off = useAction({ mutationFn: remove, onSuccess: store });
  const allOff = useAction({ mutationFn: () => sandbox('DELETE', '/faults'), onSuccess: store });
  const error = off.error ?? allOff.error;
  return (
    <section aria-label="Armed rules">
      <div className="line">
        <h2>Armed rules</h2>
        {rules.length === 0 ? null : <Button action={allOff}>All off</Button>}
      </div>
      {rules.length === 0 ? (
        <p className="soft">Nothing goes wrong. Arm a preset or a rule of your own.</p>
      ) : (
        <ul className="rules">
          {rules.map((rule) => (
            <li key={rule.id}>
              <bdi className="mono">{rule.id}</bdi>
              <span className="hits">{showCount(rule.hits, 'hit')}</span>
              <Link {...hitsOf(rule)} aria-label={`Show what ${rule.id} has hit`}>
                Show
              </Link>
              <Button kind="quiet" action={off} aria-label={`Turn ${rule.id} off`} input={rule.id}>
                Off
              </Button>
              <bdi className="soft">{describeRule(rule)}</bdi>
            </li>
          ))}
        </ul>
      )}
      <Failure error={error} />
    </section>
  );
}

/** A field that has few values; an empty one matches all of them. */
const choiceOf = (...values: readonly string[]) => ({
  className: 'field wide',
  options: values.map((value) => [value, value || 'all'] as const),
});

const CHOICES: Readonly<Record<string, ReturnType<typeof choiceOf>>> = {
  event: choiceOf('', ...EVENTS),
  method: choiceOf('', 'GET', 'POST', 'PUT', 'DELETE'),
};

function OwnRule() {
  const [surface, setSurface] = useState<FaultSurface>('webhook');
  const [chosen, setAction] = useState<FaultActionType>('drop');
  const [rule, setRule] = useState(readRule([]));
  const actions = actionsOf(surface);
  const action = actions.find((type) => type === chosen) ?? actions[0] ?? 'drop';
  const arm = useAction({
    mutationFn: () => sandbox('POST', '/faults', { body: rule }),
    onSuccess: store,
  });
  const parts = [
    ...(PARAMETERS[action] ?? []).map((key) => [`action.${key}`, key] as const),
    ...MATCHES[surface].map((key) => [`match.${key}`, key] as const),
  ];
  return (
    <Form
      label="A rule of your own"
      action={arm}
      onChange={({ currentTarget }) => setRule(readRule(new FormData(currentTarget)))}
      onSubmit={() => arm.mutate()}
      ref={(form) => {
        // The choices that are made at the beginning belong to the rule as well.
        if (form !== null && rule.action.type === undefined) setRule(readRule(new FormData(form)));
      }}
    >
      <h2>A rule of your own</h2>
      <div className="form-grid">
        <Field name="id" label="Id" defaultValue="my-rule" />
        <Field
          name="match.surface"
          label="Applies to"
          className="field"
          options={Object.entries(SURFACES)}
          value={surface}
          // The form is read next, with the fields of the choice.
          onChange={({ target }) => flushSync(() => setSurface(target.value as FaultSurface))}
        />
        <Field
          name="action.type"
          label="What happens"
          className="field"
          options={actions.map((type) => [type, type.replaceAll('_', ' ')])}
          value={action}
          onChange={({ target }) => flushSync(() => setAction(target.value as FaultActionType))}
        />
        {parts.map(([name, key]) => (
          <Field
            key={name}
            name={name}
            label={LABELS[key] ?? key}
            {...(CHOICES[key] ?? { placeholder: name.startsWith('match.') ? 'all' : '' })}
          />
        ))}
        <Field name="first" label="Only the first" placeholder="all" />
        <Field name="probability" label="Probability, 0 to 1" placeholder="1" />
        {surface === 'webhook' ? (
          <Field name="per" label="Drawn for each" {...choiceOf('attempt', 'event')} />
        ) : null}
      </div>
      <div className="line">
        <Submit kind="main">Arm</Submit>
        <CopyAs request={shapeRequest(SANDBOX_PREFIX, 'POST', '/faults', { body: rule })} />
      </div>
    </Form>
  );
}
