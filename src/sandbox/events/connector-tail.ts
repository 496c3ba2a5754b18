import { type Change, change } from '../../contract/connector/changes.ts';
import type { Clock } from '../../runtime/clock/clock.ts';
import { createEventParser, type ServerSentEvent } from '../../runtime/http-server/event-parser.ts';
import type { ForwardTarget } from '../../runtime/http-server/forward.ts';

export interface ConnectorTailOptions {
  /** Where the connector's API is; null while there is none. */
  readonly connector: () => ForwardTarget | null;
  readonly clock: Clock;
  readonly onChange: (change: Change) => void;
  /** Changes may have been missed: everything of the connector is to be read again. */
  readonly onMissed: () => void;
}

const RETRY_MS = 1_000;
/** Three heartbeats of the connector: a stream that is silent for longer is not alive. */
const SILENT_MS = 45_000;

/**
 * Follows the feed of the attached connector while it has listeners. After an interruption it continues with the
 * last change that it has seen.
 */
export class ConnectorTail {
  readonly #options: ConnectorTailOptions;
  #followers = 0;
  #ending: AbortController | undefined;
  /** The number of the last change; undefined starts with the next one. */
  #last: string | undefined;

  constructor(options: ConnectorTailOptions) {
    this.#options = options;
  }

  /** Follows from now on, until the returned function is called. The first connection is announced as missed as well. */
  follow(): () => void {
    this.#followers += 1;
    if (this.#ending === undefined) {
      this.#ending = new AbortController();
      void this.#run(this.#ending.signal);
    }
    return () => {
      this.#followers -= 1;
      if (this.#followers > 0) return;
      this.#ending?.abort();
      this.#ending = undefined;
      this.#last = undefined;
    };
  }

  async #run(ending: AbortSignal): Promise<void> {
    const { clock, onMissed } = this.#options;
    for (;;) {
      const wasOpen = await this.#read(ending);
      if (ending.aborted) return;
      // Readers see now that the connector is gone, and again when it is back.
      if (wasOpen) onMissed();
      await clock.sleep(RETRY_MS, ending).catch(() => undefined);
      if (ending.aborted) return;
    }
  }

  /** Reads the stream to its end; whether it was ever open. */
  async #read(ending: AbortSignal): Promise<boolean> {
    const target = this.#options.connector();
    if (target === null) return false;
    const stalled = new AbortController();
    let cancelStall = (): void => undefined;
    const expectMore = (): void => {
      cancelStall();
      cancelStall = this.#options.clock.after(SILENT_MS, () => stalled.abort());
    };
    let isOpen = false;
    try {
      expectMore();
      const response = await this.#open(target, AbortSignal.any([ending, stalled.signal]));
      isOpen = response !== null;
      if (response === null) return false;
      this.#options.onMissed();
      const parse = createEventParser();
      for await (const chunk of response.pipeThrough(new TextDecoderStream())) {
        expectMore();
        for (const event of parse(chunk)) this.#take(event);
      }
    } catch {
      // The connector stopped, or does not run: it is asked again.
    } finally {
      cancelStall();
      // Ends the connection where the loop was left early.
      stalled.abort();
    }
    return isOpen;
  }

  /** The body of the stream; null if the connector refuses it. */
  async #open(
    { url, token }: ForwardTarget,
    signal: AbortSignal,
  ): Promise<ReadableStream<Uint8Array<ArrayBuffer>> | null> {
    const response = await fetch(`${url}/v1/changes/stream?after=latest`, {
      headers: {
        authorization: `Bearer ${token}`,
        ...(this.#last === undefined ? {} : { 'last-event-id': this.#last }),
      },
      signal,
    });
    if (response.ok) return response.body;
    // The feed may have begun anew and not have reached this number.
    this.#last = undefined;
    await response.body?.cancel();
    return null;
  }

  #take({ id, data }: ServerSentEvent): void {
    if (id !== undefined) this.#last = id;
    if (data === undefined) return;
    const read = change.safeParse(JSON.parse(data));
    if (read.success) this.#options.onChange(read.data);
    // A connector of another version may have other changes.
    else this.#options.onMissed();
  }
}
