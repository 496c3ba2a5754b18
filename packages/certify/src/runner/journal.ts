import type { Probe } from './check.ts';
import type { Exchange } from './exchange.ts';

/** What one check has sent, received and remarked so far. */
export interface Entry {
  readonly probe: Probe;
  readonly exchanges: readonly Exchange[];
  readonly notes: readonly string[];
}

/** Every exchange of a run, in order, and those of the current check. */
export interface Journal {
  readonly exchanges: readonly Exchange[];
  /** Adds an earlier exchange to the evidence of the current check. */
  recall(exchange: Exchange): void;
  /** The probe of the current check. */
  current(): Probe;
  /** Starts recording for a check. */
  begin(signal: AbortSignal, extend: (ms: number) => void): Entry;
}

export function createJournal(): Journal {
  const all: Exchange[] = [];
  let entry: Entry | undefined;
  let seen: Exchange[] = [];
  return {
    exchanges: all,
    recall: (exchange) => void (seen.includes(exchange) || seen.push(exchange)),
    current() {
      if (entry === undefined) throw new Error('no check is running');
      return entry.probe;
    },
    begin(signal, extend) {
      const exchanges: Exchange[] = [];
      seen = exchanges;
      const notes: string[] = [];
      const probe: Probe = {
        signal,
        extend,
        note: (text) => void (notes.includes(text) || notes.push(text)),
        see(exchange) {
          all.push(exchange);
          exchanges.push(exchange);
        },
      };
      entry = { probe, exchanges, notes };
      return entry;
    },
  };
}
