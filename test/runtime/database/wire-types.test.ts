import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { encodeParam } from '../../../src/runtime/database/wire-types.ts';
import { createTestDatabase, openPool } from '../../support/database.ts';
import { ofFile } from '../../support/of-file.ts';

describe('wire types', () => {
  const test = ofFile(createTestDatabase, (made) => made.drop());
  const database = ofFile(async () => openPool(test.url, { poolSize: 2 }));

  const roundTrip = async (type: string, value: unknown): Promise<unknown> => {
    const [row] = await database.query<{ value: unknown }>(`select $1::${type} as value`, [value]);
    return row?.value;
  };

  it.each([
    ['int4', -7],
    ['int8', 9_007_199_254_740_991],
    ['float8', 0.1],
    ['float8', Number.NEGATIVE_INFINITY],
    ['bool', true],
    ['bool', false],
    ['text', 'a"b\\c{},NULL\u00e9\u{1f600}'],
    ['text', ''],
    ['text', null],
    ['numeric', '12345678901234567890.5'],
    ['date', '2026-02-28'],
    ['uuid', '7b0c5f0e-5a0e-4c43-9a5b-0f4f3f0a9f11'],
    ['bytea', Buffer.from([0, 1, 0x5c, 0xff])],
    ['text[]', ['plain', 'NULL', '', null, 'a,b', '{"x"}', '\\']],
    ['text[]', []],
    ['bigint[]', [1, null, -9_007_199_254_740_991]],
    ['int[]', [1, 2]],
    ['bool[]', [true, null, false]],
    ['bytea[]', [Buffer.from('x'), Buffer.alloc(0), null]],
    ['uuid[]', ['7b0c5f0e-5a0e-4c43-9a5b-0f4f3f0a9f11']],
  ])('round-trips %s: %j', async (type, value) => {
    expect(await roundTrip(type, value)).toEqual(value);
  });

  it('accepts a bigint parameter', async () => {
    expect(await roundTrip('int8', 42n)).toBe(42);
  });

  it('rejects an int8 past 2^53 instead of rounding, and stays usable', async () => {
    await expect(roundTrip('int8', 9_007_199_254_740_993n)).rejects.toThrow(/int8/);
    expect(await roundTrip('int8', 1)).toBe(1);
  });

  it.each(['$1::jsonb', '$1::text::jsonb', '$1::json'])('stores JSON text once as %s', async (expression) => {
    const value = { text: 'say "hi" \\ \u00e9', list: [1, null, { deep: true }] };
    const [row] = await database.query(`select ${expression} as value, (${expression})->>'text' as text`, [
      JSON.stringify(value),
    ]);
    expect(row).toEqual({ value, text: value.text });
  });

  it('stores JSON strings, numbers and null as what they are', async () => {
    const [row] = await database.query(
      'select jsonb_typeof($1::jsonb) a, jsonb_typeof($2::jsonb) b, jsonb_typeof($3::jsonb) c, $1::jsonb as d',
      ['"text"', '5', 'null'],
    );
    expect(row).toEqual({ a: 'string', b: 'number', c: 'null', d: 'text' });
  });

  it('round-trips arrays of jsonb', async () => {
    const [row] = await database.query('select $1::jsonb[] as value', [[JSON.stringify({ a: '"' }), null]]);
    expect(row).toEqual({ value: [{ a: '"' }, null] });
  });

  it('inserts many rows from arrays in one statement', async () => {
    await database.query('create table many (id int, body bytea, at bigint)');
    const at = [1, null, 3];
    await database.query('insert into many select * from unnest($1::int[], $2::bytea[], $3::bigint[])', [
      [1, 2, 3],
      [Buffer.from('a'), Buffer.from('b'), null],
      at,
    ]);
    expect(await database.query('select * from many order by id')).toEqual([
      { id: 1, body: Buffer.from('a'), at: at[0] },
      { id: 2, body: Buffer.from('b'), at: null },
      { id: 3, body: null, at: at[2] },
    ]);
  });

  it('round-trips any array of text unchanged', async () => {
    const text = fc.string({ unit: 'grapheme' }).filter((value) => !value.includes('\0'));
    const arrays = fc.array(fc.option(text), { minLength: 1, maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(arrays, async (values) => {
        expect(await roundTrip('text[]', values)).toEqual(values);
      }),
      { numRuns: 60 },
    );
  });

  it.each([
    ['undefined', undefined],
    ['an object', { a: 1 }],
    ['a date, because a time is a number', new Date(0)],
    ['undefined in an array', [undefined]],
  ])('rejects %s before anything is sent', async (_, value) => {
    expect(() => encodeParam(value)).toThrow(TypeError);
    await expect(database.query('select $1::text', [value])).rejects.toThrow(TypeError);
  });
});
