import { describe, expect, it } from 'vitest';
import { createEventParser } from '../../../src/runtime/http-server/event-parser.ts';

describe('the parser of server-sent events', () => {
  it('returns each event when it is complete', () => {
    const parse = createEventParser();
    expect(parse('id: 7\ndata: {"a"')).toEqual([]);
    expect(parse(':1}\n')).toEqual([]);
    expect(parse('\nid: 8\ndata: 2\n\ndata: 3')).toEqual([
      { id: '7', data: '{"a":1}' },
      { id: '8', data: '2' },
    ]);
    expect(parse('\n\n')).toEqual([{ id: undefined, data: '3' }]);
  });

  it('returns heartbeats and retry times without data', () => {
    const parse = createEventParser();
    expect(parse('retry: 1000\n\n:\n\n')).toEqual([
      { id: undefined, data: undefined },
      { id: undefined, data: undefined },
    ]);
  });

  it('joins lines of data, and removes at most one leading space from each', () => {
    expect(createEventParser()('data:one\ndata:  two\ndata:\n\n')).toEqual([
      { id: undefined, data: 'one\n two\n' },
    ]);
  });

  it('rejects an event that never ends', () => {
    const parse = createEventParser();
    expect(parse(`data: ${'x'.repeat(999_994)}`)).toEqual([]);
    expect(() => parse('x')).toThrow('an event is longer than 1,000,000 characters');
  });
});
