import { z } from 'zod';
import { Skip } from '../runner/check.ts';

/** A message as the receiver has it. */
const observed = z.object({
  id: z.string(),
  status: z.string().nullish(),
});

const answer = z.union([z.array(observed), z.object({ messages: z.array(observed) })]);

/** What the receiver has of one message. */
export interface Observed {
  /** How often it has it. */
  readonly count: number;
  /** Its status in lower case; null if there is none. */
  readonly status: string | null;
}

/** Tells which messages a receiver has, by id. */
export type Observer = () => Promise<ReadonlyMap<string, Observed>>;

/** An observer of what `read` resolves with: `[{ id, status? }]`, or an object with that as `messages`. */
export function createObserver(read: () => Promise<unknown>): Observer {
  return async () => {
    const found = answer.safeParse(
      await read().catch((error: unknown) => {
        throw new Skip(`the observer failed: ${error instanceof Error ? error.message : String(error)}`);
      }),
    );
    if (!found.success) {
      throw new Skip(
        'the observer must return [{ "id": "…", "status": "…" }], or an object with that as messages',
      );
    }
    const messages = Array.isArray(found.data) ? found.data : found.data.messages;
    const byId = new Map<string, Observed>();
    for (const { id, status } of messages) {
      const count = (byId.get(id)?.count ?? 0) + 1;
      byId.set(id, { count, status: status?.toLowerCase() ?? byId.get(id)?.status ?? null });
    }
    return byId;
  };
}
