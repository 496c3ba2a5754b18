import { describe, expect, it } from 'vitest';
import { change } from '../../src/contract/connector/changes.ts';
import { webhookEvent } from '../../src/contract/service/events.ts';
import { readBlocks, readProjectFile } from '../support/markdown.ts';
import { CHANGES, EVENTS } from './what-you-get/examples.ts';
import { buildWhatYouGet, listFields, SHAPES, WHAT_YOU_GET_PAGE } from './what-you-get/page.ts';

/** The names of all fields of a value, with a dot for each level. */
function namesOf(value: unknown, prefix = ''): readonly string[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [];
  return Object.entries(value).flatMap(([key, inner]) => [
    `${prefix}${key}`,
    ...namesOf(inner, `${prefix}${key}.`),
  ]);
}

describe('docs/what-you-get.md', () => {
  const page = readProjectFile(WHAT_YOU_GET_PAGE);

  it('is what `npm run docs` writes (run it and commit the page)', () => {
    expect(page.split('\n')).toEqual(buildWhatYouGet().split('\n'));
  });

  it('shows one example of each change and of each event', () => {
    const shown = readBlocks(page).map(({ text }) => JSON.parse(text) as { type?: string; event?: string });
    expect(shown.map(({ type, event }) => type ?? event).sort()).toEqual(
      [...Object.keys(SHAPES.changes), ...Object.keys(SHAPES.events)].sort(),
    );
  });

  it.each([
    ...Object.values(CHANGES).map((each) => [each.type, each, change, SHAPES.changes[each.type]] as const),
    ...Object.values(EVENTS).map(
      (each) => [each.event, each, webhookEvent, SHAPES.events[each.event]] as const,
    ),
  ])('shows every field of %s, with a meaning, and no other field', (_, example, schema, shape) => {
    expect(schema.parse(example)).toEqual(example);
    const fields = listFields(shape ?? {});
    expect(fields.filter(({ meaning }) => meaning === '')).toEqual([]);
    // The examples are texts, which have no file.
    const names = fields.map(({ name }) => name).filter((name) => !/^data\.media(Copy)?\./.test(name));
    expect([...namesOf(example)].sort()).toEqual([...names].sort());
    for (const name of names) expect(page).toContain(`\`${name.replace(/^data\./, '')}\``);
  });
});
