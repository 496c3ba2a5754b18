import { ASSUMPTIONS } from '../kernel/assumptions.ts';
import type { VirtualWait } from '../time/virtual-wait.ts';
import type { ToolCall } from './tool.ts';

const SECOND = 1_000;

/** What the wait for a send stands on. */
export interface Patience {
  /** Ends with virtual time, and with the wall clock at the latest: clients wait on real time. */
  readonly wait: VirtualWait;
  /** Aborts when the service stops: who waits is told at once. */
  readonly stopping: AbortSignal;
}

/**
 * The result of a send, or null when it is still under way after 45 s, when the client is gone, or when the
 * service stops; the send goes on. Meanwhile the client hears every 5 s that it is. Rejects as the send does.
 * [choice.tools.early]
 */
export async function awaitSend<Result>(
  sending: Promise<Result>,
  { signal, report }: ToolCall,
  { wait, stopping }: Patience,
): Promise<Result | null> {
  const { progressEveryMs, answerWithinMs } = ASSUMPTIONS.toolSend.value;
  const ended = new AbortController();
  const over = AbortSignal.any([ended.signal, signal, stopping]);
  const giveUp = (): null => null;
  const deadline = wait(answerWithinMs, over).then(giveUp, giveUp);
  const tell = async (): Promise<void> => {
    for (let told = progressEveryMs; told < answerWithinMs; told += progressEveryMs) {
      await wait(progressEveryMs, over);
      report(told / SECOND, 'Still sending. This is normal and may take up to 2.5 minutes.');
    }
  };
  // The end of the wait aborts it; there is nothing else that it could reject with.
  tell().catch(() => undefined);
  try {
    return await Promise.race([sending, deadline]);
  } finally {
    ended.abort();
  }
}
