import { systemClock } from '../../src/runtime/clock/system-clock.ts';

/** A CRM that posts sends to the connector's API and repeats each until it is accepted. */
export interface CrmSender {
  /** References of each queue's accepted sends, in order. */
  readonly taken: ReadonlyMap<string, readonly string[]>;
  /** Resolves when the calls in progress have ended. */
  stop(): Promise<void>;
}

/** A connection and its recipient. */
export interface Queue {
  readonly connectionId: string;
  readonly phone: string;
}

const REPEAT_MS = 100;

/** Sends one text after the other on each queue, `everyMs` apart. The text is the reference. */
export function startCrmSender(options: {
  readonly url: string;
  readonly token: string;
  readonly queues: readonly Queue[];
  readonly everyMs: number;
}): CrmSender {
  const { url, token, queues, everyMs } = options;
  const taken = new Map<string, string[]>();
  let stopped = false;

  async function send({ connectionId, phone }: Queue, reference: string): Promise<void> {
    const body = JSON.stringify({ connectionId, to: phone, text: reference, reference });
    for (;;) {
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
      const answer = await fetch(`${url}/v1/messages`, { method: 'POST', headers, body }).catch(() => null);
      await answer?.arrayBuffer().catch(() => undefined);
      if (answer?.status === 202) return;
      await systemClock.sleep(REPEAT_MS);
    }
  }

  const work = queues.map(async (queue, index) => {
    const references: string[] = [];
    taken.set(queue.connectionId, references);
    while (!stopped) {
      const reference = `${index}-${references.length}`;
      await send(queue, reference);
      references.push(reference);
      await systemClock.sleep(everyMs);
    }
  });
  return {
    taken,
    async stop() {
      stopped = true;
      await Promise.all(work);
    },
  };
}
