import { describe, expect, it } from 'vitest';
import { toText } from '../../../src/sandbox/events/event-hub.ts';
import { EventWriter } from '../../../src/sandbox/events/event-writer.ts';
import { ManualClock } from '../../support/manual-clock.ts';

/** A stream whose reader takes what it was written only when told to. */
function slowStream() {
  const over = new AbortController();
  const written: string[] = [];
  let drain: (() => void) | undefined;
  let slow = false;
  const stream = {
    over: over.signal,
    end: () => over.abort(),
    write(text: string) {
      written.push(text);
      return slow ? new Promise<void>((resolve) => (drain = resolve)) : undefined;
    },
  };
  const clock = new ManualClock();
  return {
    written,
    clock,
    over,
    writer: new EventWriter(stream, clock),
    beSlow: () => {
      slow = true;
    },
    async takeAll() {
      slow = false;
      drain?.();
      await clock.advance(0);
    },
  };
}

describe('a writer of events', () => {
  it('keeps the order if the reader is slow', async () => {
    const { writer, written, beSlow, takeAll } = slowStream();
    beSlow();
    for (const text of ['a', 'b', 'c']) writer.event(text, 'ledger');
    expect(written).toEqual(['a']);
    await takeAll();
    writer.event('d', 'ledger');
    expect(written).toEqual(['a', 'bc', 'd']);
  });

  it('buffers at most a megabyte, and reports which lists the reader must read again', async () => {
    const { writer, written, clock, beSlow, takeAll } = slowStream();
    const event = 'x'.repeat(400_000);
    // As much room each time.
    for (let times = 0; times < 2; times += 1) {
      written.length = 0;
      beSlow();
      for (let index = 0; index < 50; index += 1) writer.event(event, 'deliveries');
      writer.event(event, 'calls');
      await takeAll();
      await clock.advance(100);
      expect(written).toEqual([
        event,
        `${event}${event}`,
        toText({ type: 'changed', what: 'deliveries' }) + toText({ type: 'changed', what: 'calls' }),
      ]);
    }
  });

  it('drops a change of time that does not fit, because the next one replaces it', async () => {
    const { writer, written, clock, beSlow, takeAll } = slowStream();
    beSlow();
    writer.event('first', null);
    writer.event('x'.repeat(1_000_001), null);
    await takeAll();
    await clock.advance(100);
    expect(written).toEqual(['first']);
  });

  it('gathers changes for a moment, and for as long as the reader reads nothing', async () => {
    const { writer, written, clock, beSlow, takeAll } = slowStream();
    writer.changed('faults');
    writer.changed('faults');
    expect(written).toEqual([]);
    await clock.advance(100);
    beSlow();
    writer.event('blocks', null);
    writer.changed('hosts');
    await clock.advance(10_000);
    await takeAll();
    expect(written).toEqual([
      toText({ type: 'changed', what: 'faults' }),
      'blocks',
      toText({ type: 'changed', what: 'hosts' }),
    ]);
  });

  it('leaves no timer behind when the stream ends', () => {
    const { writer, clock, over } = slowStream();
    writer.changed('faults');
    over.abort();
    writer.changed('hosts');
    expect(clock.pending).toBe(0);
  });
});
