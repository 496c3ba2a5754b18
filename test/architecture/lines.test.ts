import { expect, it } from 'vitest';
import { countLines, ROOM } from './lines.ts';

it.each(countLines())('$part has at most $limit lines', ({ part, lines, limit }) => {
  expect(
    lines,
    `${part} has ${lines} lines, more than its limit of ${limit}: remove some`,
  ).toBeLessThanOrEqual(limit);
  expect(
    limit - lines,
    `${part} has ${lines} lines, far below its limit of ${limit}: lower the number in lines.ts`,
  ).toBeLessThanOrEqual(ROOM);
});
