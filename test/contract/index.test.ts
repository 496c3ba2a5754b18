import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { readProjectFile } from '../support/markdown.ts';
import { ROOT } from '../support/root.ts';

/** Parts of the exported ones. */
const INTERNAL = [
  'connector/connection-endpoints.ts',
  'connector/consumer-endpoints.ts',
  'connector/connector-endpoint.ts',
  'connector/lists.ts',
  'connector/message-endpoints.ts',
  'connector/sync-endpoints.ts',
  'connector/webhook-endpoints.ts',
  'service/fields.ts',
  'service/read-fields.ts',
  'service/request-refusal.ts',
];

it('`messaging-connector/contract` exports the shapes of the whole wire, of both APIs', () => {
  const exported = [...readProjectFile('src/contract/index.ts').matchAll(/^export \* from '\.\/(.+)';$/gm)];
  const files = ['connector', 'service'].flatMap((api) =>
    readdirSync(join(ROOT, 'src/contract', api)).map((name) => `${api}/${name}`),
  );
  const known = [...exported.map(([, file]) => file), ...INTERNAL].sort();
  expect(known, 'add the file to src/contract/index.ts').toEqual(files.sort());
});
