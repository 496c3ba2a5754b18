import { type Database, QueryDeadlineExceeded } from '../../src/runtime/database/database.ts';
import { aroundQueries } from './replace-calls.ts';

/** A database that, while muted, does not answer queries whose text, without quotation marks, contains a word. */
export function createMuteDatabase(database: Database): {
  readonly database: Database;
  /** Stops answering queries with this word. Resolves with the first of them. */
  mute(word: string): Promise<void>;
  /** Answers all queries again; those without an answer stay without one. */
  speak(): void;
  /** Fails the unanswered queries, as at their deadline. */
  giveUp(): void;
} {
  const unanswered: ((error: Error) => void)[] = [];
  let muted: { readonly word: string; readonly heard: () => void } | null = null;
  return {
    database: aroundQueries(database, (text, run) => {
      if (muted === null || !text.replaceAll('"', '').includes(muted.word)) return run();
      muted.heard();
      return new Promise((_, reject) => unanswered.push(reject));
    }),
    mute(word) {
      const { promise, resolve } = Promise.withResolvers<void>();
      muted = { word, heard: resolve };
      return promise;
    },
    speak() {
      muted = null;
    },
    giveUp() {
      for (const reject of unanswered.splice(0)) reject(new QueryDeadlineExceeded(0, 'query', false));
    },
  };
}
