import { beforeEach, describe, expect, it } from 'vitest';
import {
  createPairingWatches,
  type PairingWatches,
  type WatchedConnection,
} from '../../../src/connector/pairing/pairing-watches.ts';
import type { PairingEvent } from '../../../src/contract/connector/pairing.ts';
import type { ReadConnectionDetail } from '../../../src/contract/service/read-answers.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { silentLogger } from '../support/event-fixtures.ts';

const CONNECTING = { status: 'connecting', provider: 'qr', qr: 'picture' } as ReadConnectionDetail;
const CONNECTED = { status: 'connected', provider: 'qr', qr: null } as ReadConnectionDetail;

let clock: ManualClock;
let watches: PairingWatches;
let reads: number;
let ends: string[];
/** What the service answers; a connection that is watched. */
let answer: () => Promise<ReadConnectionDetail>;
let connection: WatchedConnection;

beforeEach(() => {
  clock = new ManualClock();
  watches = createPairingWatches({ clock, logger: silentLogger, random: () => 0, maxViewers: 3 });
  reads = 0;
  ends = [];
  answer = () => Promise.resolve(CONNECTING);
  connection = {
    id: 'c1',
    read: () => {
      reads += 1;
      return answer();
    },
    onEnd: (result) => Promise.resolve(void ends.push(result.next)),
  };
});

/** Somebody who looks, and what they were told. */
function viewer(of: WatchedConnection = connection) {
  const told: PairingEvent['type'][] = [];
  const leave = watches.watch(of, (event) => told.push(event.type));
  return { told, leave: leave ?? (() => expect.fail('nobody looks')), refused: leave === null };
}

describe('viewers of a connection', () => {
  it('share one poll, and each receives everything while it watches', async () => {
    const one = viewer();
    await clock.advance(0);
    const two = viewer();
    expect(two.told).toEqual(['qr']);
    await clock.advance(3_000);
    one.leave();
    await clock.advance(3_000);
    expect([one.told.length, two.told.length, reads]).toEqual([2, 3, 3]);
    two.leave();
  });

  it('end the poll with the last of them, even if they unsubscribe twice', async () => {
    const [one, two] = [viewer(), viewer()];
    await clock.advance(0);
    one.leave();
    one.leave();
    await clock.advance(3_000);
    expect([reads, watches.viewers]).toEqual([2, 1]);
    two.leave();
    await watches.settle();
    await clock.advance(60_000);
    expect([reads, watches.viewers, clock.pending]).toEqual([2, 0, 0]);
  });

  it('start a new poll after the previous one has ended', async () => {
    viewer().leave();
    const next = viewer();
    await clock.advance(0);
    expect(next.told).toEqual(['qr']);
    next.leave();
  });

  it('are notified of the end after it was stored, and even if that fails', async () => {
    const order: string[] = [];
    answer = () => Promise.resolve(CONNECTED);
    const stored = { ...connection, onEnd: () => Promise.resolve(void order.push('stored')) };
    watches.watch(stored, (event) => order.push(event.type));
    await watches.settle();
    expect(order).toEqual(['stored', 'connected']);

    const broken = viewer({ ...connection, id: 'c2', onEnd: () => Promise.reject(new Error('no database')) });
    await watches.settle();
    expect(broken.told).toEqual(['connected']);
  });

  it('who come while the end is being stored see what follows it', async () => {
    const stored = Promise.withResolvers<void>();
    answer = () => Promise.resolve({ ...CONNECTING, status: 'disconnected', qr: null });
    const one = viewer({ ...connection, onEnd: () => stored.promise });
    await clock.advance(0);
    answer = () => Promise.resolve(CONNECTING);
    const two = viewer();
    await clock.advance(0);
    stored.resolve();
    await clock.advance(0);
    expect([one.told, two.told]).toEqual([['ended'], ['qr']]);
    two.leave();
  });

  it('are notified if an error that is no failure of the service ends the poll', async () => {
    answer = () => Promise.reject(new TypeError('a mistake of ours'));
    const one = viewer();
    await watches.settle();
    expect(one.told).toEqual(['ended']);
    expect(ends).toEqual([]);
    answer = () => Promise.resolve(CONNECTING);
    const two = viewer();
    await clock.advance(0);
    one.leave();
    const three = viewer();
    await clock.advance(0);
    expect([two.told, three.told, reads]).toEqual([['qr'], ['qr'], 2]);
    for (const { leave } of [two, three]) leave();
  });

  it('are limited in number', async () => {
    const all = [viewer(), viewer({ ...connection, id: 'c2' }), viewer()];
    expect(viewer().refused).toBe(true);
    all[0]?.leave();
    expect(viewer().refused).toBe(false);
  });

  it('are notified that the process stops, and no poll starts afterwards', async () => {
    const one = viewer();
    await clock.advance(0);
    watches.close();
    expect(one.told).toEqual(['qr', 'ended']);
    expect(viewer().refused).toBe(true);
    await watches.settle();
    await clock.advance(60_000);
    expect([reads, clock.pending]).toEqual([1, 0]);
  });
});
