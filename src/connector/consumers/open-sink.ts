import type { ConsumerRow } from './consumer-store.ts';
import { type ChangeHandlers, createHandlerSink } from './sinks/handler.ts';
import type { Sink } from './sinks/sink.ts';

/** What sinks of this process can use. */
export interface SinkContext {
  /** Undefined: this process calls no handler. */
  readonly handlers: ChangeHandlers | undefined;
}

/** The sink of a consumer; null if this process cannot call it. May throw; it is tried again at the next check. */
export async function openSink(row: ConsumerRow, { handlers }: SinkContext): Promise<Sink | null> {
  switch (row.kind) {
    case 'handler':
      return handlers === undefined ? null : createHandlerSink(handlers);
    default:
      return null;
  }
}
