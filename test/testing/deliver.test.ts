import { describe, expect, it } from 'vitest';
import type { Change } from '../../src/contract/connector/changes.ts';
import { deliver, failsThenTakes } from '../../src/testing/deliver.ts';

const change = (seq: number, connectionId: string, historic = false): Change => ({
  seq,
  at: '2026-01-01T00:00:00.000Z',
  accountId: 'first',
  connectionId,
  type: 'message.status',
  messageId: `m${seq}`,
  data: { status: 'read', previous: 'delivered', historic },
});
const [one, two, other] = [change(1, 'a'), change(2, 'a'), change(3, 'b')];

describe('deliver', () => {
  it('calls a handler with the changes of a connection in order', async () => {
    const seen: number[] = [];
    const { taken, calls, deadLetters } = await deliver(({ seq }) => void seen.push(seq), [one, two]);
    expect(seen).toEqual([1, 2]);
    expect({ taken, deadLetters, attempts: calls.map(({ attempt }) => attempt) }).toEqual({
      taken: [one, two],
      deadLetters: [],
      attempts: [1, 1],
    });
  });

  it('repeats a change with the same key, and blocks only its connection', async () => {
    const handlers = failsThenTakes(2);
    const { taken } = await deliver(
      { onChange: (each, context) => (each === other ? undefined : handlers.onChange(each, context)) },
      [one, two, other],
    );
    expect(taken).toEqual([other, one, two]);
    expect(handlers.calls.map(({ change: { seq }, context: { attempt } }) => [seq, attempt])).toEqual([
      [1, 1],
      [1, 2],
      [1, 3],
      [2, 1],
    ]);
    const keys = handlers.calls.map(({ context: { key } }) => key);
    expect(new Set(keys).size).toBe(2);
    expect(new Set(keys.slice(0, 3)).size).toBe(1);
  });

  it('sets a change aside after its last attempt, and continues', async () => {
    const broken = { attempts: 3, onChange: failsThenTakes(3).onChange };
    const { taken, deadLetters } = await deliver(broken, [one, two]);
    expect(taken).toEqual([two]);
    expect(deadLetters).toMatchObject([
      { change: one, attempts: 3, error: { message: 'call 3 of 3 that fail' } },
    ]);
  });

  it('makes twelve attempts by default, and aborts a call at its deadline', async () => {
    const { deadLetters } = await deliver(failsThenTakes(20), one);
    expect(deadLetters).toMatchObject([{ attempts: 12 }]);
    const hangs = { attempts: 1, deadlineMs: 100, onChange: () => new Promise<void>(() => undefined) };
    expect((await deliver(hangs, one)).deadLetters).toMatchObject([
      { error: { name: 'CallDeadlineExceeded' } },
    ]);
  });

  it('does not call a handler that skips history with historic changes', async () => {
    const historic = change(4, 'a', true);
    const skips = { historic: 'skip', onChange: () => undefined } as const;
    expect(await deliver(skips, [one, historic])).toMatchObject({ taken: [one], calls: [{ change: one }] });
    expect((await deliver({ onChange: () => undefined }, [historic])).taken).toEqual([historic]);
  });

  it('refuses the handlers that the connector refuses', async () => {
    const handlers = [{}, undefined, { onChange: () => undefined, attempts: Number('') }] as never[];
    for (const invalid of handlers)
      await expect(deliver(invalid, one)).rejects.toThrow(/^the given object (must have|has invalid)/);
  });
});
