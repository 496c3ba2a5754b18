import { QueryClient } from '@tanstack/react-query';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createInvalidator } from '../src/data/invalidate.ts';
import { type EventStream, openEventStream } from '../src/data/stream.ts';
import type { StreamEvent } from '../src/data/stream-event.ts';

const EVERYTHING = { type: 'changed', what: 'everything' };

describe('the stream of a page', () => {
  let responses: ReadableStreamDefaultController<Uint8Array>[];
  let heard: StreamEvent[];
  beforeEach(() => {
    vi.useFakeTimers();
    responses = [];
    heard = [];
    vi.stubGlobal('navigator', {});
    vi.stubGlobal('fetch', async (_url: string, { signal }: RequestInit) => {
      const body = new ReadableStream<Uint8Array>({
        start(response) {
          responses.push(response);
          signal?.addEventListener('abort', () => response.error(signal.reason));
        },
      });
      return { ok: true, body };
    });
  });
  afterEach(() => {
    vi.useRealTimers();
    vi.unstubAllGlobals();
  });

  function open(): EventStream {
    const stream = openEventStream('/events', (data) => JSON.parse(data));
    stream.listen((event) => heard.push(event));
    return stream;
  }
  async function say(text: string): Promise<void> {
    await vi.advanceTimersByTimeAsync(0);
    responses.at(-1)?.enqueue(new TextEncoder().encode(text));
    await vi.advanceTimersByTimeAsync(0);
  }

  it('passes on each event as a whole, also if it arrives in pieces', async () => {
    const stream = open();
    expect(stream.state()).toBe('connecting');
    await say(': open\n\ndata: {"type":');
    await say('"one"}\n\ndata: {"type":"two"}\n');
    expect(stream.state()).toBe('live');
    await say('\n');
    expect(heard).toEqual([EVERYTHING, { type: 'one' }, { type: 'two' }]);
  });

  it('is opened again a second after it broke, and everything may have changed meanwhile', async () => {
    const stream = open();
    await say(': open\n\n');
    responses[0]?.close();
    await vi.advanceTimersByTimeAsync(999);
    expect([stream.state(), responses.length]).toEqual(['gone', 1]);
    await vi.advanceTimersByTimeAsync(1);
    await say(': open\n\n');
    expect(stream.state()).toBe('live');
    expect(heard).toEqual([EVERYTHING, EVERYTHING]);
  });

  it('is not live, and opened again, if nothing was heard for 20 s, heartbeats included', async () => {
    const stream = open();
    await say(': open\n\n');
    await vi.advanceTimersByTimeAsync(19_000);
    await say(':\n\n');
    await vi.advanceTimersByTimeAsync(19_999);
    expect([stream.state(), responses.length]).toEqual(['live', 1]);
    await vi.advanceTimersByTimeAsync(1);
    expect(stream.state()).not.toBe('live');
    await vi.advanceTimersByTimeAsync(1_000);
    expect(responses).toHaveLength(2);
    expect(heard).toEqual([EVERYTHING]);
  });

  it('is one for all tabs: each knows at once whether it is live, and hears what the first hears', async () => {
    const tabs: FakeChannel[] = [];
    class FakeChannel {
      onmessage: (event: { data: unknown }) => void = () => undefined;
      constructor() {
        tabs.push(this);
      }
      postMessage(data: unknown): void {
        for (const tab of tabs) if (tab !== this) tab.onmessage({ data });
      }
    }
    vi.stubGlobal('BroadcastChannel', FakeChannel);
    const held: (() => unknown)[] = [];
    const locks = { request: (_name: string, run: () => unknown) => held.push(run) === 1 && run() };
    vi.stubGlobal('navigator', { locks });
    const first = open();
    await say(':\n\n');
    const second = open();
    expect([first.state(), second.state(), responses.length]).toEqual(['live', 'live', 1]);
    heard = [];
    await say('data: {"type":"one"}\n\n');
    expect(heard).toEqual([{ type: 'one' }, { type: 'one' }]);
    await vi.advanceTimersByTimeAsync(19_000);
    await say(':\n\n');
    await vi.advanceTimersByTimeAsync(19_000);
    expect(second.state()).toBe('live');
    responses[0]?.close();
    await vi.advanceTimersByTimeAsync(0);
    expect([first.state(), second.state()]).toEqual(['gone', 'gone']);
    await vi.advanceTimersByTimeAsync(1_000);
    await say(':\n\n');
    tabs.length = 0;
    await vi.advanceTimersByTimeAsync(20_000);
    expect(second.state()).toBe('connecting');
  });

  it.each([
    ['delivery', { entry: { attempts: [{}] } }, ['deliveries', 'webhooks']],
    ['delivery', { entry: { attempts: [{}, { faults: ['slow'] }] } }, ['deliveries', 'webhooks', 'faults']],
    ['call', { entry: {} }, ['calls', 'sync']],
    ['call', { entry: { faults: ['slow'] } }, ['calls', 'sync', 'faults']],
    ['clock', {}, ['clock', 'timers']],
    ['change', {}, ['connector', 'sync']],
    ['changed', { what: 'timers' }, ['timers', 'clock']],
    ['changed', { what: 'connector' }, ['connector', 'sync']],
    ['changed', { what: 'messages' }, ['messages']],
    ['changed', { what: 'everything' }, [undefined]],
  ])('has each list read again that a %s of %j changes', async (type, event, lists) => {
    const queries = new QueryClient();
    const invalidate = vi.spyOn(queries, 'invalidateQueries');
    createInvalidator(queries)({ type, ...event } as unknown as StreamEvent);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(invalidate.mock.calls.map(([filter]) => filter?.queryKey?.[0])).toEqual(lists);
  });
});
