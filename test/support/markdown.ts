import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './root.ts';

/** A fenced block. */
export interface CodeBlock {
  readonly language: string;
  readonly text: string;
}

/** The Markdown files of the project, relative to its folder. */
export function listMarkdown(): readonly string[] {
  const exclude = ['node_modules/**', '.data/**', 'dist/**', '**/node_modules/**'];
  return globSync('**/*.md', { cwd: ROOT, exclude }).sort();
}

/** Reads a file of the project. */
export function readProjectFile(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8');
}

/** The fenced blocks of a Markdown text, in order. */
export function readBlocks(markdown: string): readonly CodeBlock[] {
  return [...markdown.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)].map(([, language = '', text = '']) => ({
    language,
    text: text.trimEnd(),
  }));
}

/** A Markdown text without its fenced blocks. */
export function readProse(markdown: string): string {
  return markdown.replace(/^```\w*\n[\s\S]*?^```$/gm, '');
}

/** A table in Markdown. */
export function writeTable(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return [line(heads), `|${heads.map(() => '---').join('|')}|`, ...rows.map(line)].join('\n');
}

/** Targets of links and pictures in a Markdown text. */
export function findTargets(markdown: string): readonly string[] {
  return [...readProse(markdown).matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = '']) => target);
}
