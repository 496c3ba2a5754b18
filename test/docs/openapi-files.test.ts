import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { readProjectFile } from '../support/markdown.ts';
import { buildOpenApiFiles } from './openapi-files.ts';

describe('docs/openapi', () => {
  it.each(Object.entries(buildOpenApiFiles()))('%s is what `npm run docs` writes', (path, text) => {
    const [lines, written] = [readProjectFile(path).split('\n'), text.split('\n')];
    // Line by line, so that a failure names what changed and not the whole document.
    const known = new Set(written);
    expect(lines.filter((line) => !known.has(line))).toEqual([]);
    expect(lines).toEqual(written);
  });

  it('has a file for each of the three servers, with the addresses of `npm start`', () => {
    const servers = Object.entries(buildOpenApiFiles()).map(([path, text]) => [path, parse(text).servers]);
    expect(servers).toEqual([
      ['docs/openapi/connector.yaml', [{ url: 'http://127.0.0.1:4020' }]],
      ['docs/openapi/sandbox.yaml', [{ url: 'http://127.0.0.1:4000/sandbox/v1' }]],
      ['docs/openapi/service.yaml', [{ url: 'http://127.0.0.1:4010/api/v1' }]],
    ]);
  });
});
