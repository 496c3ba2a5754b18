import type { ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ConnectorTail } from '../../../src/sandbox/events/connector-tail.ts';
import { type Served, serve } from '../../support/serve.ts';
import { WatchedClock } from '../../support/watched-clock.ts';

const change = (seq: number) => ({
  seq,
  at: '2026-01-15T12:00:00.000Z',
  type: 'message.status',
  accountId: 'default',
  connectionId: 'cconnection',
  messageId: `m${seq}`,
  data: { status: 'read', previous: 'sent', historic: false },
});
const event = (seq: number): string => `id: ${seq}\ndata: ${JSON.stringify(change(seq))}\n\n`;

interface Asked {
  readonly url: string | undefined;
  readonly authorization: string | undefined;
  readonly resumed: string | string[] | undefined;
}

let clock: WatchedClock;
let served: Served;
let asked: Asked[];
let streams: ServerResponse[];
let refusals: number;
let seen: (number | 'missed')[];
let waiters: { readonly fits: () => boolean; readonly tell: () => void }[];
let tail: ConnectorTail;

const check = (): void => {
  for (const waiter of waiters.filter(({ fits }) => fits())) waiter.tell();
  waiters = waiters.filter(({ fits }) => !fits());
};
const until = (fits: () => boolean): Promise<void> =>
  new Promise((tell) => {
    waiters.push({ fits, tell });
    check();
  });
const note = (one: number | 'missed'): void => {
  seen.push(one);
  check();
};
/** Sends text on the newest stream. */
const send = (text: string): void => void streams.at(-1)?.write(text);

beforeEach(async () => {
  clock = new WatchedClock();
  [asked, streams, refusals, seen, waiters] = [[], [], 0, [], []];
  const server = createServer((request, response) => {
    const { authorization, 'last-event-id': resumed } = request.headers;
    asked.push({ url: request.url, authorization, resumed });
    if (refusals > 0) {
      refusals -= 1;
      response.writeHead(409).end('{}');
    } else {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write('retry: 1000\n\n');
      streams.push(response);
      response.on('close', () => {
        streams = streams.filter((stream) => stream !== response);
        check();
      });
    }
    check();
  });
  served = await serve(server);
  tail = new ConnectorTail({
    connector: () => ({ url: served.url, token: 'a-token' }),
    clock,
    onChange: ({ seq }) => note(seq),
    onMissed: () => note('missed'),
  });
});

afterEach(() => served.close());

describe('the changes of the connector', () => {
  it('are read with its token while a client follows them, from the newest on', async () => {
    expect(asked).toEqual([]);
    const leave = [tail.follow(), tail.follow()];
    await until(() => seen.length === 1);
    send(`:\n\n${event(8)}${event(9).slice(0, 20)}`);
    send(`${event(9).slice(20)}`);
    await until(() => seen.length === 3);
    expect(seen).toEqual(['missed', 8, 9]);
    expect(asked).toEqual([
      { url: '/v1/changes/stream?after=latest', authorization: 'Bearer a-token', resumed: undefined },
    ]);
    leave[0]?.();
    expect(streams).toHaveLength(1);
    leave[1]?.();
    await until(() => streams.length === 0);
    expect(clock.pending).toBe(0);
  });

  it('continue after a restart of the connector from the last one that was read', async () => {
    const leave = tail.follow();
    await until(() => seen.length === 1);
    send(event(8));
    await until(() => seen.length === 2);
    streams.at(-1)?.destroy();
    await until(() => seen.length === 3);
    await clock.pass(1_000);
    await until(() => seen.length === 4);
    send(event(9));
    await until(() => seen.length === 5);
    expect(seen).toEqual(['missed', 8, 'missed', 'missed', 9]);
    expect(asked.map(({ resumed }) => resumed)).toEqual([undefined, '8']);
    leave();
  });

  it('start over if the feed has not reached the last one that was read', async () => {
    const leave = tail.follow();
    await until(() => seen.length === 1);
    send(event(8));
    await until(() => seen.length === 2);
    refusals = 1;
    streams.at(-1)?.destroy();
    await clock.pass(1_000);
    await until(() => asked.length === 2);
    await clock.pass(1_000);
    await until(() => seen.length === 4);
    expect(asked.map(({ resumed }) => resumed)).toEqual([undefined, '8', undefined]);
    leave();
  });

  it('are requested again if nothing arrived for 45 s, not even a heartbeat', async () => {
    const leave = tail.follow();
    await until(() => seen.length === 1);
    await clock.advance(45_000);
    await until(() => seen.length === 2);
    await clock.pass(1_000);
    await until(() => seen.length === 3);
    expect(seen).toEqual(['missed', 'missed', 'missed']);
    leave();
  });

  it('of an unknown type are reported as missed', async () => {
    const leave = tail.follow();
    await until(() => seen.length === 1);
    send('id: 8\ndata: {"seq":8,"type":"of tomorrow"}\n\n');
    await until(() => seen.length === 2);
    expect(seen).toEqual(['missed', 'missed']);
    leave();
  });

  it('are requested again for a client that follows them after the last one has left', async () => {
    tail.follow()();
    const leave = tail.follow();
    await until(() => seen.length === 1);
    send(event(3));
    await until(() => seen.includes(3));
    leave();
  });
});
