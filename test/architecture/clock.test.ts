import { describe, expect, it } from 'vitest';
import { findImports } from './import-rules.ts';
import { readSources, readSql, SOURCES, type SourceFile } from './source-files.ts';
import { lineAt } from './source-parts.ts';

/**
 * The clock itself, the page, which runs in a browser, and the nodes, which run in n8n. `setImmediate` is free for all:
 * it waits for no time.
 */
const EXEMPT = /^(?:src\/runtime\/clock|packages\/(?:console|n8n)\/src)\//;

const CLOCK_READS = [
  /\bDate\s*\.\s*now\b/g,
  /\bnew\s+Date\b(?!\s*\(\s*[^\s)])/g,
  /(?<!new\s+)(?<![.\w])Date\s*\(\s*\)/g,
  /\bperformance\s*\.\s*\w+/g,
  /\bprocess\s*\.\s*(?:hrtime|uptime)\b/g,
  /\bset(?:Timeout|Interval)\b/g,
];
/** A command talks to real servers in real time; the parts that it composes must not. */
const DEADLINE = /\bAbortSignal\s*\.\s*timeout\b/g;
const COMMANDS = /^src\/(?:client|commands)\//;
const TIMER_MODULES = /^(?:node:)?(?:timers(?:\/promises)?|perf_hooks)$/;
const SQL_CLOCKS =
  /\b(?:now|clock_timestamp|statement_timestamp|transaction_timestamp|timeofday)\s*\(|\b(?:current_(?:timestamp|date|time)|localtime(?:stamp)?)\b/gi;
const DRIZZLE_CLOCKS = /\bdefaultNow\b/g;

function findClockReads(file: SourceFile): string[] {
  const place = (at: number, what: string): string => `${file.path}:${lineAt(file.source, at)} ${what}`;
  return [
    ...[...CLOCK_READS, ...(COMMANDS.test(file.path) ? [] : [DEADLINE])]
      .flatMap((read) => [...file.code.matchAll(read)])
      .map(({ index, 0: what }) => place(index, what)),
    ...findImports(file)
      .filter(({ specifier }) => TIMER_MODULES.test(specifier))
      .map(({ from, line, specifier }) => `${from}:${line} ${specifier}`),
  ];
}

function findSqlClocks(file: SourceFile): string[] {
  const inTexts = file.texts.flatMap(({ text, at }) =>
    [...text.matchAll(SQL_CLOCKS)].map(({ index, 0: what }) => ({ at: at + index, what })),
  );
  const inCode = [...file.code.matchAll(DRIZZLE_CLOCKS)].map(({ index, 0: what }) => ({ at: index, what }));
  return [...inTexts, ...inCode].map(({ at, what }) => `${file.path}:${lineAt(file.source, at)} ${what}`);
}

const files = readSources(...SOURCES).filter(({ path }) => !EXEMPT.test(path));

describe('time', () => {
  it('is read only through the clock (take a Clock as a parameter)', () => {
    expect(files.flatMap(findClockReads)).toEqual([]);
  });

  it('comes into SQL as a parameter, never from the database', () => {
    expect(files.flatMap(findSqlClocks)).toEqual([]);
    const inMigrations = readSql('drizzle').flatMap(({ path, sql }) =>
      [...sql.matchAll(SQL_CLOCKS)].map(({ index, 0: what }) => `${path}:${lineAt(sql, index)} ${what}`),
    );
    expect(inMigrations).toEqual([]);
  });

  it('is searched for in existing files and migrations, and found in the clock itself', () => {
    expect(files.length).toBeGreaterThan(50);
    expect(readSources('src/runtime/clock').flatMap(findClockReads)).not.toEqual([]);
    expect(readSql('drizzle').length).toBeGreaterThan(1);
  });
});
