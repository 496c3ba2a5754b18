import { useState } from 'react';
import { ADVANCE_FORMS, type Advance, readAdvance } from '../../../../../src/contract/sandbox/advance.ts';
import { ApiError, atField, isOf, sandbox } from '../../data/client.ts';
import { useVirtualNow } from '../../data/clock.ts';
import { queries } from '../../data/live.ts';
import { useAction } from '../../data/use-action.ts';
import { Button } from '../../ui/button.tsx';
import { Field, Form, Submit } from '../../ui/form.tsx';
import { Confirmed } from '../../ui/menu.tsx';
import { Failure } from '../../ui/states.tsx';
import { takeFocus } from '../../ui/take-focus.ts';
import { showDateTime } from '../../ui/times.tsx';
import { countDue } from './due.ts';
import { DueList, useDue } from './due-list.tsx';
import {
  BEFORE_ADVANCE,
  LOST,
  removeSnapshot,
  restoreSnapshot,
  saveBeforeAdvance,
  startOver,
  useSnapshots,
} from './snapshots.ts';
import './dock.css';

const STEPS = [
  ['20 s', 20_000],
  ['15 min', 900_000],
  ['1 h', 3_600_000],
  ['72 h', 259_200_000],
  ['7 d', 604_800_000],
  ['30 d', 2_592_000_000],
] as const;

/** The last time of the year 9999, with which virtual time ends. */
const LATEST = 253_402_300_799_999;

/** Virtual time: it is frozen, run and advanced here, and what an advance would fire is shown before. */
export function TimePane() {
  const time = useVirtualNow();
  const now = time?.now ?? 0;
  /** What would be advanced to, in virtual epoch milliseconds, while a step has the focus or the pointer. */
  const [aim, setAim] = useState<number>();
  const until = aim !== undefined && aim >= now ? aim : undefined;
  const [text, setText] = useState('');
  const [isUnread, setUnread] = useState(false);
  const turn = useAction({
    mutationFn: () => sandbox('POST', time?.isFrozen === true ? '/clock/run' : '/clock/freeze'),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['clock'] }),
  });
  const [canUndo, setCanUndo] = useState(true);
  const undo = useAction({
    async mutationFn(id: string) {
      const { now: again } = await restoreSnapshot(id);
      await removeSnapshot(id);
      return again;
    },
    onSuccess: startOver,
  });
  const before = useSnapshots().data?.find(({ label }) => label === BEFORE_ADVANCE);
  const advance = useAction({
    async mutationFn({ by }: { readonly by: Advance; readonly from: number }) {
      if (canUndo) await saveBeforeAdvance();
      return sandbox('POST', '/clock/advance', { body: by });
    },
    onSuccess: () => {
      setAim(undefined);
      setText('');
    },
  });
  const go = (by: Advance): void => advance.mutate({ by, from: now });
  const own = readAdvance(text.trim());
  const aimAt = (by: Advance | null): void => {
    const at = by === null ? undefined : targetOf(by, now);
    setAim(at !== undefined && at <= LATEST ? at : undefined);
  };
  const [next] = useDue(undefined, now).entries ?? [];
  const toNext: Advance | undefined =
    next === undefined ? undefined : next.at > now ? { to: new Date(next.at).toISOString() } : { ms: 0 };
  const target = advance.variables;
  return (
    <div className="dock-grid" ref={takeFocus}>
      <section aria-label="Virtual time">
        <div className="line">
          <Button action={turn} disabled={time === undefined}>
            {time?.isFrozen === true ? 'Run' : 'Freeze'}
          </Button>
          <span className="soft">
            {time?.isFrozen === true
              ? 'Time stands still until it is advanced or runs again.'
              : 'Time runs as fast as real time.'}
          </span>
        </div>
        <Failure error={turn.error} />
        {/* biome-ignore lint/a11y/useSemanticElements: a fieldset is for fields */}
        <div className="line" role="group" aria-label="Advance by" onPointerLeave={() => setAim(undefined)}>
          <span className="soft">Advance</span>
          {STEPS.map(([label, ms]) => (
            <Button
              key={label}
              action={advance}
              input={{ by: { ms }, from: now }}
              onFocus={() => aimAt({ ms })}
              onPointerEnter={() => aimAt({ ms })}
            >
              {label}
            </Button>
          ))}
          <Button
            isPending={advance.isPending || toNext === undefined}
            onClick={() => toNext !== undefined && go(toNext)}
            onFocus={() => setAim(undefined)}
            onPointerEnter={() => setAim(undefined)}
          >
            To the next event
          </Button>
        </div>
        <Form
          label="Advance by a time of your own"
          action={{ ...advance, error: isUnread ? UNREAD : atTheField(advance.error) }}
          onSubmit={() => {
            // What cannot be read is refused in the words of this page, at the field.
            setUnread(own === null);
            if (own === null) advance.reset();
            else go(own);
          }}
        >
          <Field
            name="by"
            label="Another duration, or the time to advance to"
            placeholder="90s, 5m, 2h, 3d"
            value={text}
            onChange={({ target: { value } }) => {
              setText(value);
              setUnread(false);
              aimAt(readAdvance(value.trim()));
            }}
            beside={<Submit>Advance</Submit>}
          />
        </Form>
        {advance.isPending && target !== undefined ? (
          <Progress from={target.from} to={targetOf(target.by, target.from)} now={now} />
        ) : null}
        <p role="status" className="soft">
          {undo.data !== undefined && undo.submittedAt > advance.submittedAt
            ? `Undone. It is ${showDateTime(undo.data)} again.`
            : advance.data === undefined || advance.isPending
              ? ''
              : `It is ${showDateTime(advance.data.now)} now. ${countDue(advance.data.fired) || 'No timer was due'}.`}
        </p>
        <div className="line">
          <label className="tick">
            <input
              type="checkbox"
              checked={canUndo}
              onChange={({ target: { checked } }) => setCanUndo(checked)}
            />
            Save the state before, to undo an advance
          </label>
          {before === undefined ? null : (
            <Confirmed
              label="Undo"
              question={`It is ${showDateTime(before.now)} virtual time again. Everything since then is lost: ${LOST}`}
              action={undo}
              input={before.id}
              isPending={undo.isPending || advance.isPending}
            />
          )}
        </div>
        <Failure error={undo.error} />
        <p className="line">
          <a className="button" href="/scenario.jsonl" download>
            Save a scenario
          </a>
          <span className="soft">What has happened since the last reset, to repeat it.</span>
        </p>
      </section>
      <section aria-label="What happens" aria-live="polite">
        <h2>{until === undefined ? 'What happens next' : `What happens until ${showDateTime(until)}`}</h2>
        <DueList until={until} now={now} />
      </section>
    </div>
  );
}

const targetOf = (by: Advance, from: number): number => ('ms' in by ? from + by.ms : Date.parse(by.to));

const UNREAD = new ApiError('', 400, 'invalid_request', `This is not a time: ${ADVANCE_FORMS}.`, 'by');

/** The error of `ms` or `to` belongs to the one field there is. */
const atTheField = (error: unknown): unknown =>
  isOf(error, 'ms') || isOf(error, 'to') ? atField(error, 'by') : error;

function Progress({ from, to, now }: { readonly from: number; readonly to: number; readonly now: number }) {
  return (
    <p className="line">
      <progress max={Math.max(1, to - from)} value={Math.max(0, now - from)} aria-label="Advancing" />
      <span className="soft">{showDateTime(now)}</span>
    </p>
  );
}
