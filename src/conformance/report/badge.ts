import { escapeMarkup } from './escape-markup.ts';
import type { Report } from './report.ts';

const COLOURS: Readonly<Record<Report['verdict'], string>> = {
  conforms: '#2f7d57',
  violates: '#b3362c',
  harness: '#8a6412',
  unknown: '#8a6412',
  interrupted: '#8a6412',
};
const CHARACTER_PX = 6.6;
const PADDING_PX = 12;

/** The result of a run as a badge. It states that the result is self-declared. */
export function writeBadge({ counts, results, verdict, suite }: Report, levels: readonly string[]): string {
  const label = `${suite} ${levels.join('+')}`;
  const judged = results.length - counts.skip;
  const value = `${counts.pass} of ${judged} checks kept, self-declared`;
  const widths = [label, value].map((text) => Math.round(text.length * CHARACTER_PX + PADDING_PX));
  const [left = 0, right = 0] = widths;
  const middle = (from: number, width: number): number => from + width / 2;
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${left + right}" height="20" role="img" aria-label="${escapeMarkup(`${label}: ${value}`)}">
<rect width="${left}" height="20" fill="#454b52"/><rect x="${left}" width="${right}" height="20" fill="${COLOURS[verdict]}"/>
<g fill="#fff" text-anchor="middle" font-family="Verdana, DejaVu Sans, sans-serif" font-size="11">
<text x="${middle(0, left)}" y="14">${escapeMarkup(label)}</text><text x="${middle(left, right)}" y="14">${escapeMarkup(value)}</text>
</g></svg>
`;
}
