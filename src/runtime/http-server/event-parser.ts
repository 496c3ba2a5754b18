/** One server-sent event. A heartbeat has neither an id nor data. */
export interface ServerSentEvent {
  readonly id: string | undefined;
  readonly data: string | undefined;
}

/** In characters. A change is at most a few kilobytes. */
const LONGEST_EVENT = 1_000_000;

/**
 * Returns a function that takes the text of a stream of server-sent events piece by piece, and returns the events
 * that each piece completes, heartbeats included. Lines end with LF, as `openEventStream` writes them. The function
 * throws if an event is longer than 1,000,000 characters.
 */
export function createEventParser(): (text: string) => readonly ServerSentEvent[] {
  let rest = '';
  return (text) => {
    const blocks = `${rest}${text}`.split('\n\n');
    rest = blocks.pop() ?? '';
    if (rest.length > LONGEST_EVENT) throw new Error('an event is longer than 1,000,000 characters');
    return blocks.map(parseEvent);
  };
}

function parseEvent(block: string): ServerSentEvent {
  const lines = block.split('\n');
  const valuesOf = (field: string): readonly string[] =>
    lines
      .filter((line) => line.startsWith(`${field}:`))
      .map((line) => line.slice(field.length + 1).replace(/^ /, ''));
  const data = valuesOf('data');
  return { id: valuesOf('id').at(-1), data: data.length === 0 ? undefined : data.join('\n') };
}
