import { createHash } from 'node:crypto';
import { escapeMarkup } from './escape-markup.ts';
import { PAGE_STYLE } from './page-style.ts';

/** HTML that is safe to show; only `html` creates it. */
export class Markup {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

type Value = string | number | Markup | readonly Markup[];

function show(value: Value): string {
  if (value instanceof Markup) return value.text;
  return typeof value === 'object' ? value.map(({ text }) => text).join('') : escapeMarkup(String(value));
}

/**
 * Invisible characters, and characters that change the text direction around them: all of Unicode's format
 * characters, its fillers, joiners and variation selectors, and characters that no program should have
 * stored.
 */
const UNSEEN = /[\p{Cf}\p{Default_Ignorable_Code_Point}\p{Co}\p{Cn}\p{Cs}]/gu;
/** Runs of anything that looks like a space, including the empty Braille pattern. */
const BLANK = /[\s\p{Z}\p{Cc}\u2800]+/gu;
const LONGEST_NAME = 120;
const NAMELESS = '(no name)';

/**
 * A name chosen by somebody else, without invisible characters, truncated if it is very long. Never empty.
 */
export function plainName(name: string): string {
  const signs = [...(name.replace(UNSEEN, '').replace(BLANK, ' ').trim() || NAMELESS)];
  return signs.length > LONGEST_NAME ? `${signs.slice(0, LONGEST_NAME).join('')}…` : signs.join('');
}

/** The same as markup, isolated in its own text direction. */
export function shownName(name: string): Markup {
  return html`<bdi>${plainName(name)}</bdi>`;
}

/**
 * A template that escapes its values unless they are markup themselves. Attributes must be in double quotes.
 */
export function html(parts: TemplateStringsArray, ...values: readonly Value[]): Markup {
  return new Markup(
    parts.map((part, place) => part + (place < values.length ? show(values[place] ?? '') : '')).join(''),
  );
}

/** A phone number with its label, number first. */
export function shownNumber(phoneNumber: string | null, label: string): Markup {
  const number = phoneNumber === null || phoneNumber === '' ? 'Not paired yet' : `+${phoneNumber}`;
  const named = label !== '' && label !== phoneNumber;
  return html`${number}${named ? html` <span class="soft">${shownName(label)}</span>` : html``}`;
}

const STYLE_HASH = createHash('sha256').update(PAGE_STYLE).digest('base64');

/** The content of a page. The classes of its markup are those of `page-style.ts`. */
export interface Page {
  /** Title of the tab; one line. */
  readonly title: string;
  /** The owner of the page, shown above the heading. */
  readonly owner: string;
  /** Shown below the owner in small print: the location of the page, or who is signed in. */
  readonly about?: Markup;
  readonly heading: Markup;
  readonly content: Markup;
  /**
   * The targets of its forms, as sources of `form-action`; a browser also applies them to redirects after a
   * form. Absent if the page has no form.
   */
  readonly formTargets?: readonly string[];
  /** An address that the page refreshes to by itself. */
  readonly refreshTo?: string;
}

/** A speech bubble. Decorative: the owner's name is next to it. */
const MARK = html`<svg viewBox="0 0 28 28" aria-hidden="true"><path d="M6 3h16a4 4 0 0 1 4 4v10a4 4 0 0 1-4 4h-8l-6 5v-5H6a4 4 0 0 1-4-4V7a4 4 0 0 1 4-4z"/></svg>`;

/**
 * A page and the headers that it must be sent with: no scripts, no frames, nothing loaded from elsewhere, not
 * cached, and no referrer.
 */
export function renderPage(page: Page): {
  readonly html: string;
  readonly headers: Readonly<Record<string, string>>;
} {
  const { title, owner, about, heading, content, formTargets = [], refreshTo } = page;
  const refresh =
    refreshTo === undefined ? html`` : html`\n<meta http-equiv="refresh" content="0; url=${refreshTo}">`;
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
