import { expect, it } from 'vitest';
import { readSlowly } from '../../../src/connector/media/media-keeper.ts';
import { ManualClock } from '../../support/manual-clock.ts';

const PIECE = new Uint8Array(64 * 1024);

/** Reads that many pieces of 64 KiB. */
function read(clock: ManualClock, count: number, signal = new AbortController().signal) {
  const pieces = (async function* () {
    for (let piece = 0; piece < count; piece += 1) yield PIECE;
  })();
  const state = { pieces: 0, done: Promise.resolve() };
  state.done = (async () => {
    for await (const _piece of readSlowly(pieces, clock, signal)) state.pieces += 1;
  })();
  return state;
}

it('a file of 16 MiB is read at 2 MiB a second, piece by piece', async () => {
  const clock = new ManualClock();
  const file = read(clock, 256);
  await clock.advance(1_000);
  expect(file.pieces).toBe(32);
  await clock.advance(6_500);
  expect(file.pieces).toBeLessThan(240);
  await clock.advance(700);
  await file.done;
  expect(file.pieces).toBe(256);
});

it('a file that arrives late does not wait', async () => {
  const clock = new ManualClock();
  const pieces = (async function* () {
    for (let piece = 0; piece < 4; piece += 1) {
      await clock.skip(32);
      yield PIECE;
    }
  })();
  const sizes: number[] = [];
  for await (const piece of readSlowly(pieces, clock, new AbortController().signal)) sizes.push(piece.length);
  expect(sizes).toEqual([65_536, 65_536, 65_536, 65_536]);
});

it('a file of less than 20 KiB waits for no timer', async () => {
  const clock = new ManualClock();
  const piece = new Uint8Array(20 * 1024 - 1);
  for await (const _piece of readSlowly(
    (async function* () {
      yield piece;
    })(),
    clock,
    new AbortController().signal,
  ));
  expect(clock.pending).toBe(0);
});

it('a file that nobody needs any more ends its wait at once', async () => {
  const ended = new AbortController();
  const file = read(new ManualClock(), 256, ended.signal);
  ended.abort(new Error('erased'));
  await expect(file.done).rejects.toThrow('erased');
});
