import { describe, expect, it } from 'vitest';
import { lineAt, takeApart } from './source-parts.ts';

describe('a source taken apart', () => {
  it('keeps code and positions, and blanks comments and texts', () => {
    const source = 'a(); // b()\nc(\'d\', "e"); /* f()\n g() */ h(`i`);';
    const { code, texts } = takeApart(source);

    expect(code).toHaveLength(source.length);
    expect(code.replace(/\s+/g, ' ')).toBe('a(); c(\' \', " "); h(` `);');
    expect(texts.map(({ text }) => text)).toEqual(['d', 'e', 'i']);
    expect(lineAt(source, source.indexOf('h('))).toBe(3);
  });

  it('reads the code inside of templates, however deep', () => {
    const { code, texts } = takeApart(`x(\`a \${b({ c: \`d \${e} f\` })} g\`); h();`);
    for (const name of ['x', 'b', 'c', 'e', 'h']) expect(code).toContain(name);
    expect(code).not.toMatch(/[adfg] /);
    expect(texts.map(({ text }) => text.trim())).toEqual(['a', 'd', 'f', 'g']);
  });

  it('is not misled by quotes in regular expressions and slashes in divisions', () => {
    const { code, texts } = takeApart(
      "const r = /['\"`/]\\//g; const d = a / b; s('t'); const e = (c) / 2; u('v');",
    );
    expect(texts.map(({ text }) => text)).toEqual(['t', 'v']);
    expect(code).toContain('a / b');
    expect(code).not.toContain("['");
  });

  it('is not misled by escaped quotes', () => {
    expect(takeApart("a('it\\'s'); b();").code).toContain('b();');
    expect(takeApart(`a(\`\\\`\${b}\\\`\`); c();`).code).toContain('c();');
  });
});
