import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { cacheCompiledCode } from '../../src/commands/compile-cache.ts';

describe('keeping compiled code', () => {
  it('is left out where no folder can be made', () => {
    const belowThisFile = `${fileURLToPath(import.meta.url)}/folder`;
    expect(() => cacheCompiledCode(belowThisFile)).not.toThrow();
  });
});
