import { describe, expect, it } from 'vitest';
import { lineAt, splitSource } from './source-parts.ts';

describe('splitting a source', () => {
  it('keeps code and positions, and blanks comments and strings', () => {
    const source = 'a(); // b()\nc(\'d\', "e"); /* f()\n g() */ h(`i`);';
    const { code, texts } = splitSource(source);

    expect(code).toHaveLength(source.length);
    expect(code.replace(/\s+/g, ' ')).toBe('a(); c(\' \', " "); h(` `);');
    expect(texts.map(({ text }) => text)).toEqual(['d', 'e', 'i']);
    expect(lineAt(source, source.indexOf('h('))).toBe(3);
  });

  it('reads the code inside templates, however deeply nested', () => {
    const { code, texts } = splitSource(`x(\`a \${b({ c: \`d \${e} f\` })} g\`); h();`);
    for (const name of ['x', 'b', 'c', 'e', 'h']) expect(code).toContain(name);
    expect(code).not.toMatch(/[adfg] /);
    expect(texts.map(({ text }) => text.trim())).toEqual(['a', 'd', 'f', 'g']);
  });

  it('is not misled by quotes in regular expressions and slashes in divisions', () => {
    const { code, texts } = splitSource(
      "const r = /['\"`/]\\//g; const d = a / b; s('t'); const e = (c) / 2; u('v');",
    );
    expect(texts.map(({ text }) => text)).toEqual(['t', 'v']);
    expect(code).toContain('a / b');
    expect(code).not.toContain("['");
  });

  it('is not misled by escaped quotes', () => {
    expect(splitSource("a('it\\'s'); b();").code).toContain('b();');
    expect(splitSource(`a(\`\\\`\${b}\\\`\`); c();`).code).toContain('c();');
  });
});
