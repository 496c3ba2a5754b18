import { createHash } from 'node:crypto';
import { PAGE_STYLE } from './page-style.ts';

/** HTML that is safe to show; made by `html` alone. */
export class Markup {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function escapeText(text: string): string {
  return text.replace(/[&<>"']/g, (sign) => ENTITIES[sign] ?? sign);
}

type Value = string | number | Markup | readonly Markup[];

function show(value: Value): string {
  if (value instanceof Markup) return value.text;
  return typeof value === 'object' ? value.map(({ text }) => text).join('') : escapeText(String(value));
}

/**
 * Characters that are not seen, or that turn the direction of what stands around them: all of Unicode's format
 * characters, its fillers, joiners and variation selectors, and what no program should have stored.
 */
const UNSEEN = /[\p{Cf}\p{Default_Ignorable_Code_Point}\p{Co}\p{Cn}\p{Cs}]/gu;
/** Whatever looks like a space, the empty Braille pattern included, however much of it there is. */
const BLANK = /[\s\p{Z}\p{Cc}\u2800]+/gu;
const LONGEST_NAME = 120;
const NAMELESS = '(no name)';

/** A name that somebody else chose, without what is not seen, and cut off where it is very long. Never empty. */
export function plainName(name: string): string {
  const signs = [...(name.replace(UNSEEN, '').replace(BLANK, ' ').trim() || NAMELESS)];
  return signs.length > LONGEST_NAME ? `${signs.slice(0, LONGEST_NAME).join('')}…` : signs.join('');
}

/** The same as markup, with a direction of its own. */
export function shownName(name: string): Markup {
  return html`<bdi>${plainName(name)}</bdi>`;
}

/** A template whose values are escaped, unless they are markup themselves. Attributes stand in double quotes. */
export function html(parts: TemplateStringsArray, ...values: readonly Value[]): Markup {
  return new Markup(
    parts.map((part, place) => part + (place < values.length ? show(values[place] ?? '') : '')).join(''),
  );
}

/** A phone number and what it is called, the number first. */
export function shownNumber(phoneNumber: string | null, label: string): Markup {
  const number = phoneNumber === null || phoneNumber === '' ? 'Not paired yet' : `+${phoneNumber}`;
  const named = label !== '' && label !== phoneNumber;
  return html`${number}${named ? html` <span class="soft">${shownName(label)}</span>` : html``}`;
}

const STYLE_HASH = createHash('sha256').update(PAGE_STYLE).digest('base64');

/** What a page shows. Classes of its markup are those of `page-style.ts`. */
export interface Page {
  /** Of the tab; one line. */
  readonly title: string;
  /** Whose page it is. Stands above the heading. */
  readonly owner: string;
  /** Below the owner, in small: where the page stands, or as whom somebody is signed in. */
  readonly about?: Markup;
  readonly heading: Markup;
  readonly content: Markup;
  /** Where its forms lead, as sources of `form-action`: a browser holds redirects after a form to them, too. None: no form. */
  readonly formTargets?: readonly string[];
  /** An address that the page goes on to by itself. */
  readonly goesOnTo?: string;
}

/** A speech bubble. Decoration: the owner's name stands beside it. */
const MARK = html`<svg viewBox="0 0 28 28" aria-hidden="true"><path d="M6 3h16a4 4 0 0 1 4 4v10a4 4 0 0 1-4 4h-8l-6 5v-5H6a4 4 0 0 1-4-4V7a4 4 0 0 1 4-4z"/></svg>`;

/**
 * A page and the headers that it must be sent with: no script, no frame, nothing loaded from elsewhere, kept nowhere,
 * and its address goes nowhere.
 */
export function renderPage(page: Page): {
  readonly html: string;
  readonly headers: Readonly<Record<string, string>>;
} {
  const { title, owner, about, heading, content, formTargets = [], goesOnTo } = page;
  const refresh =
    goesOnTo === undefined ? html`` : html`\n<meta http-equiv="refresh" content="0; url=${goesOnTo}">`;
  const { text } = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${title}</title>${refresh}
<style>${new Markup(PAGE_STYLE)}</style>
</head>
<body>
<header class="masthead">${MARK}<p><strong>${owner}</strong>${about === undefined ? html`` : html`<span class="soft">${about}</span>`}</p></header>
<main>
<h1>${heading}</h1>
${content}
</main>
</body>
</html>
`;
  return {
    html: text,
    headers: {
      'Content-Type': 'text/html; charset=utf-8',
      'Cache-Control': 'no-store',
      'Content-Security-Policy': [
        "default-src 'none'",
        `style-src 'sha256-${STYLE_HASH}'`,
        `form-action ${formTargets.length === 0 ? "'none'" : formTargets.join(' ')}`,
        "frame-ancestors 'none'",
        "base-uri 'none'",
      ].join('; '),
      'X-Frame-Options': 'DENY',
      'X-Content-Type-Options': 'nosniff',
      'Referrer-Policy': 'no-referrer',
    },
  };
}
