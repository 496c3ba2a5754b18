import { useRef, useState } from 'react';
import { Button } from './button.tsx';
import { Confirmed } from './menu.tsx';

interface Progress {
  readonly all: number;
  readonly done: number;
  readonly failed: number;
  readonly firstFailure: string | null;
  readonly state: 'runs' | 'stopped' | 'over';
}

/**
 * Does the same with many things, one after the other, after one question that says with how many. Shows how far it is,
 * can be stopped between two of them, and says how it ended. A failure does not stop it.
 */
export function Bulk<Item>({
  label,
  question,
  count,
  items,
  isDisabled = false,
  isBusy = false,
  act,
  onEnd,
}: {
  readonly label: string;
  readonly question: string;
  /** How many there are. Without any, there is no button. */
  readonly count: number;
  /** What is touched, when it begins. */
  readonly items: () => Promise<readonly Item[]> | readonly Item[];
  readonly isDisabled?: boolean;
  /** Whether something else is running that must end first. */
  readonly isBusy?: boolean;
  readonly act: (item: Item) => Promise<unknown>;
  readonly onEnd: () => unknown;
}) {
  const [progress, setProgress] = useState<Progress>();
  const isStopped = useRef(false);
  const isRunning = progress?.state === 'runs';

  const run = async (): Promise<void> => {
    isStopped.current = false;
    let now: Progress = { all: 0, done: 0, failed: 0, firstFailure: null, state: 'runs' };
    const show = (changed: Partial<Progress>): void => {
      now = { ...now, ...changed };
      setProgress(now);
    };
    const fail = (error: unknown): void =>
      show({
        failed: now.failed + 1,
        firstFailure: now.firstFailure ?? (error instanceof Error ? error.message : String(error)),
      });
    show({});
    try {
      const chosen = await items();
      show({ all: chosen.length });
      for (const item of chosen) {
        if (isStopped.current) break;
        await act(item).then(() => show({ done: now.done + 1 }), fail);
      }
    } catch (error) {
      fail(error);
    }
    show({ state: isStopped.current ? 'stopped' : 'over' });
    onEnd();
  };

  return (
    <>
      {count === 0 ? null : (
        <Confirmed
          label={label}
          question={question}
          isDisabled={isDisabled}
          action={{ isPending: isRunning || isBusy, mutate: () => void run() }}
        />
      )}
      {progress === undefined ? null : (
        <span className="line" role="status">
          {isRunning ? (
            <progress
              aria-label={label}
              max={Math.max(1, progress.all)}
              value={progress.done + progress.failed}
            />
          ) : null}
          <span className={progress.failed > 0 ? 'bad' : 'soft'}>{describe(progress)}</span>
          {isRunning ? (
            <Button
              onClick={() => {
                isStopped.current = true;
              }}
            >
              Stop
            </Button>
          ) : null}
        </span>
      )}
    </>
  );
}

function describe({ all, done, failed, firstFailure, state }: Progress): string {
  const failures = failed === 0 ? '' : `, ${failed} failed: ${firstFailure}`;
  const how = state === 'runs' ? '' : state === 'stopped' ? 'Stopped: ' : 'Done: ';
  return `${how}${done} of ${all}${failures}`;
}
