import { describe, expect, it } from 'vitest';
import { createFlightRecorder } from '../../src/sandbox/recorder/flight-recorder.ts';

const NOON = Date.parse('2026-11-23T12:00:00Z');
const SEEDED = { complete: true, frozen: false, sendScale: 1 };

function cause(text: string) {
  const call = { surface: 'sandbox', method: 'POST', path: '/contacts/447700900201/messages' } as const;
  return { at: '2026-11-23T12:00:00.000Z', ...call, body: { text }, answer: { messageId: 'm' } };
}

function recorderOf(limits: { causes: number; characters: number }) {
  const recorder = createFlightRecorder(() => NOON, limits);
  recorder.restart(SEEDED);
  const texts = () => recorder.read().causes.map(({ id, body }) => [id, (body as { text: string }).text]);
  return { recorder, texts };
}

describe('the flight recorder', () => {
  it('keeps the newest causes, and reports that others are missing', () => {
    const { recorder, texts } = recorderOf({ causes: 2, characters: 10_000 });
    for (const text of ['one', 'two']) recorder.add(cause(text));
    expect(recorder.read()).toMatchObject({ complete: true, startedAt: '2026-11-23T12:00:00.000Z' });
    recorder.add(cause('three'));
    expect(texts()).toEqual([
      [2, 'two'],
      [3, 'three'],
    ]);
    expect(recorder.read().complete).toBe(false);
    const continued = createFlightRecorder(() => NOON);
    continued.load(recorder.save());
    expect(continued.read()).toEqual(recorder.read());
  });

  it('keeps a limited amount of text', () => {
    const { recorder, texts } = recorderOf({ causes: 100, characters: 1_000 });
    recorder.add(cause('x'.repeat(400)));
    recorder.add(cause('y'.repeat(700)));
    expect(texts()).toEqual([[2, 'y'.repeat(700)]]);
  });

  it('records nothing while it is paused', async () => {
    const { recorder, texts } = recorderOf({ causes: 100, characters: 10_000 });
    await recorder.pausedFor(async () => recorder.add(cause('self-check')));
    await expect(recorder.pausedFor(() => Promise.reject(new Error('failed')))).rejects.toThrow('failed');
    recorder.add(cause('one'));
    expect(texts()).toEqual([[1, 'one']]);
  });

  it('starts over with a restart', () => {
    const { recorder, texts } = recorderOf({ causes: 1, characters: 10_000 });
    for (const text of ['one', 'two']) recorder.add(cause(text));
    recorder.restart({ ...SEEDED, sendScale: 0 });
    recorder.add(cause('three'));
    expect(texts()).toEqual([[1, 'three']]);
    expect(recorder.read()).toMatchObject({ complete: true, sendScale: 0 });
  });
});
