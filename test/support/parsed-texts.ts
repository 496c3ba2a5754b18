import { onTestFinished, vi } from 'vitest';

/** Watches `JSON.parse` until the end of the test. Returns a function that returns the parsed texts. */
export function parsedTexts(): () => unknown[] {
  const parse = vi.spyOn(JSON, 'parse');
  onTestFinished(() => parse.mockRestore());
  return () => parse.mock.calls.map(([text]) => text);
}
