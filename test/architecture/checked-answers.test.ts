import { describe, expect, it } from 'vitest';
import { readSources, type SourceFile, TESTS } from './source-files.ts';
import { lineAt } from './source-parts.ts';

/** Files that call the API directly, and why. All others use callers that check. */
const CALLERS: Readonly<Record<string, string>> = {
  'test/support/platform.ts': 'checks every answer',
  'packages/conformance/test/broken-proxy.ts': 'passes answers on, to break them on purpose',
  'packages/certify/test/gallery/integrations.ts':
    'is the integration that is judged, and faults forge its answers',
};

const SENDS = /\b(?:fetch|ky(?:\.\w+)?|http\.request|openRequest)\s*\(/g;
const LEADS_TO_API = /\/api\/v1\b|\b\w*[bB]aseUrl\b/;

/** The text from the parenthesis at `from` to its match. */
function argumentsAt({ code, source }: SourceFile, from: number): string {
  let depth = 0;
  for (let at = from; at < code.length; at += 1) {
    if (code[at] === '(') depth += 1;
    if (code[at] === ')') depth -= 1;
    if (depth === 0) return source.slice(from, at);
  }
  return source.slice(from);
}

function findCalls(file: SourceFile): string[] {
  return [...file.code.matchAll(SENDS)]
    .filter(({ index, 0: call }) => LEADS_TO_API.test(argumentsAt(file, index + call.length - 1)))
    .map(({ index }) => `${file.path}:${lineAt(file.source, index)}`);
}

const files = readSources(...TESTS);

describe('answers of the API in tests', () => {
  it('are checked: no test bypasses the callers that check (use `call` of test/support/platform.ts)', () => {
    const others = files.filter(({ path }) => !Object.hasOwn(CALLERS, path));
    expect(others.flatMap(findCalls)).toEqual([]);
  });

  it('have no unused exemption', () => {
    const calling = files.filter((file) => findCalls(file).length > 0).map(({ path }) => path);
    expect(Object.keys(CALLERS).filter((path) => !calling.includes(path))).toEqual([]);
  });
});
