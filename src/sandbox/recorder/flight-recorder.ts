import type { RecordedCause, Recording } from '../../contract/sandbox/recording.ts';
import { toIso } from '../../runtime/clock/iso-time.ts';

/** What is kept: 10,000 causes, and about 8 MB of text. */
const LIMITS: RecorderLimits = { causes: 10_000, characters: 8 * 1024 * 1024 };

export interface RecorderLimits {
  readonly causes: number;
  readonly characters: number;
}

/** A cause as it happened: `at` is when the call arrived, in virtual time. */
export type Happened = Omit<RecordedCause, 'id'>;

/** The state in which a recording begins. */
type Beginning = Pick<Recording, 'frozen' | 'sendScale' | 'complete'>;

/** Everything that a recorder has kept. */
export interface SavedRecording {
  readonly beginning: Beginning & { readonly startedAt: string };
  readonly kept: readonly { readonly cause: RecordedCause; readonly characters: number }[];
  readonly lastId: number;
  readonly lost: boolean;
}

export type FlightRecorder = ReturnType<typeof createFlightRecorder>;

/**
 * Keeps the latest causes, so that a failure can be recorded after it has happened. `now` is virtual time, in epoch
 * milliseconds.
 */
export function createFlightRecorder(now: () => number, limits: RecorderLimits = LIMITS) {
  let beginning: SavedRecording['beginning'];
  let kept: SavedRecording['kept'][number][] = [];
  let characters = 0;
  let lastId = 0;
  let lost = false;
  let pauses = 0;

  const restart = (state: Beginning): void => {
    beginning = { ...state, startedAt: toIso(now()) };
    kept = [];
    characters = 0;
    lastId = 0;
    lost = false;
  };
  restart({ frozen: false, sendScale: 1, complete: false });

  return {
    /** Starts over. */
    restart,
    add(happened: Happened): void {
      if (pauses > 0) return;
      lastId += 1;
      const cause: RecordedCause = { id: lastId, ...happened };
      const size = JSON.stringify(cause).length;
      kept.push({ cause, characters: size });
      characters += size;
      while (kept.length > limits.causes || characters > limits.characters) {
        characters -= kept.shift()?.characters ?? 0;
        lost = true;
      }
    },
    /** What was recorded, for `load`. */
    save: (): SavedRecording => ({ beginning, kept: [...kept], lastId, lost }),
    /** Continues a recording. */
    load(saved: SavedRecording): void {
      ({ beginning, lastId, lost } = saved);
      kept = [...saved.kept];
      characters = kept.reduce((sum, { characters: size }) => sum + size, 0);
    },
    /** Runs `work`, whose causes are not recorded. */
    async pausedFor<Result>(work: () => Promise<Result>): Promise<Result> {
      pauses += 1;
      try {
        return await work();
      } finally {
        pauses -= 1;
      }
    },
    read: (): Omit<Recording, 'hiddenWorkspaceIds'> => ({
      ...beginning,
      now: toIso(now()),
      complete: beginning.complete && !lost,
      causes: kept.map(({ cause }) => cause),
    }),
  };
}
