import { expect, it } from 'vitest';
import { PREVIOUS_SECRET_ACCEPTED_MS } from '../../src/contract/connector/webhook-endpoints.ts';
import { readProjectFile } from '../support/markdown.ts';

it('docs/secrets.md states how long a replaced secret is accepted', () => {
  const [, seconds] = /are still accepted for (\d+) seconds/.exec(readProjectFile('docs/secrets.md')) ?? [];
  expect(Number(seconds) * 1_000).toBe(PREVIOUS_SECRET_ACCEPTED_MS);
});
