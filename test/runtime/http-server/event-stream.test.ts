import { once } from 'node:events';
import { createServer, request, type ServerResponse } from 'node:http';
import { setImmediate } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type EventStream, openEventStream } from '../../../src/runtime/http-server/event-stream.ts';
import { readEvents } from '../../support/event-reader.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { type Served, serve } from '../../support/serve.ts';

describe('a stream of server-sent events', () => {
  let served: Served;
  let clock: ManualClock;
  let ending: AbortController;
  let asked: Promise<ServerResponse>;

  beforeEach(async () => {
    clock = new ManualClock();
    ending = new AbortController();
    const { promise, resolve } = Promise.withResolvers<ServerResponse>();
    asked = promise;
    served = await serve(createServer((_request, response) => resolve(response)));
  });

  afterEach(() => served.close());

  const open = async (): Promise<EventStream> =>
    openEventStream(await asked, { clock, ending: ending.signal });

  it('ends at once for a reader who left before it was opened', async () => {
    const leaving = request(served.url).on('error', () => undefined);
    leaving.end();
    const response = await asked;
    leaving.destroy();
    await once(response, 'close');
    const stream = await open();
    expect(stream.over.aborted).toBe(true);
    expect(stream.write('data: 1\n\n')).toBeUndefined();
    expect(clock.pending).toBe(0);
  });

  it('says something every 15 s, unless the reader has not received what was written', async () => {
    const reading = readEvents(served.url, (data) => data);
    const response = await asked;
    const stream = await open();
    const { close } = await reading;
    const write = vi.spyOn(response, 'write');
    await clock.advance(14_999);
    expect(write).not.toHaveBeenCalled();
    await clock.advance(1);
    expect(write.mock.calls).toEqual([[':\n\n']]);
    vi.spyOn(response, 'writableNeedDrain', 'get').mockReturnValue(true);
    await clock.advance(15_000);
    expect(write).toHaveBeenCalledTimes(1);
    close();
    stream.end();
  });

  it('waits with what follows until a slow reader has received enough, or the stream ends', async () => {
    const [stream, reader] = await Promise.all([open(), readEvents(served.url, (data) => data)]);
    expect(reader.answer.headers['cache-control']).toBe('no-cache, no-transform');
    const response = await asked;
    vi.spyOn(response, 'write').mockReturnValue(false);
    const received = stream.write('data: 1\n\n');
    response.emit('drain');
    await received;
    await clock.advance(60_000);
    expect(response.destroyed).toBe(false);
    let isOver = false;
    void stream.write('data: 2\n\n')?.then(() => {
      isOver = true;
    });
    await setImmediate();
    expect(isOver).toBe(false);
    ending.abort();
    await setImmediate();
    expect(isOver).toBe(true);
    reader.close();
  });

  it('ends when the reader leaves, and leaves no timer', async () => {
    const [stream, reader] = await Promise.all([open(), readEvents(served.url, (data) => data)]);
    stream.write('data: 1\n\n');
    await reader.find((data) => data === 1);
    reader.close();
    if (!stream.over.aborted) await once(stream.over, 'abort');
    expect(clock.pending).toBe(0);
  });

  it('ends for the reader too when the server ends it, and accepts nothing more', async () => {
    const [stream, reader] = await Promise.all([open(), readEvents(served.url, (data) => data)]);
    stream.write('data: "last"\n\n');
    ending.abort();
    stream.write('data: "too late"\n\n');
    stream.end();
    await reader.ended;
    expect(reader.events).toEqual(['last']);
    expect(reader.answer.complete).toBe(true);
    expect(clock.pending).toBe(0);
  });
});
