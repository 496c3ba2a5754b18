import { z } from 'zod';
import { Skip } from './check.ts';

const text = z.string().nullish();

/** A message as the receiver has it. */
const observed = z.object({
  id: z.string(),
  status: text,
  text,
  media_url: text,
  media_type: text,
  // As the service's REST API names them.
  mediaUrl: text,
  mediaType: text,
});

const answer = z.union([z.array(observed), z.object({ messages: z.array(observed) })]);

/** What the receiver has of one message. Fields that the observer does not return are undefined. */
export interface Observed {
  /** How often it has it. */
  readonly count: number;
  /** Its status in lower case; null if there is none. */
  readonly status: string | null;
  readonly text: string | null | undefined;
  readonly mediaUrl: string | null | undefined;
  readonly mediaType: string | null | undefined;
}

/** The messages that a receiver has, by id. */
export type Seen = ReadonlyMap<string, Observed>;

/** Tells which messages a receiver has, by id. */
export type Observer = () => Promise<Seen>;

/**
 * An observer of what `read` resolves with: `[{ id, status?, text?, media_url?, media_type? }]`, or an object with that
 * as `messages`.
 */
export function createObserver(read: () => Promise<unknown>): Observer {
  return async () => {
    const found = answer.safeParse(
      await read().catch((error: unknown) => {
        throw new Skip(`the observer failed: ${error instanceof Error ? error.message : String(error)}`);
      }),
    );
    if (!found.success) {
      throw new Skip(
        'the observer must return [{ "id": "…", "status": "…", "text": "…" }], or an object with that as messages',
      );
    }
    const messages = Array.isArray(found.data) ? found.data : found.data.messages;
    const byId = new Map<string, Observed>();
    for (const { id, status, ...message } of messages) {
      const before = byId.get(id);
      byId.set(id, {
        count: (before?.count ?? 0) + 1,
        status: status?.toLowerCase() ?? before?.status ?? null,
        text: message.text,
        mediaUrl: message.media_url === undefined ? message.mediaUrl : message.media_url,
        mediaType: message.media_type === undefined ? message.mediaType : message.media_type,
      });
    }
    return byId;
  };
}
