import { createHash } from 'node:crypto';
import type { OauthAnswer } from '../oauth-answer.ts';
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

/** Characters that are not seen, or that turn the direction of what stands around them. */
const UNSEEN = /[\p{Cc}\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;
const LONGEST_NAME = 120;

/** A name that somebody else chose, without what is not seen, and cut off where it is very long. */
export function plainName(name: string): string {
  const signs = [...name.replace(UNSEEN, ' ').trim()];
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

const STYLE_HASH = createHash('sha256').update(PAGE_STYLE).digest('base64');

/** What a page shows. */
export interface Page {
  readonly title: string;
  readonly heading: Markup;
  readonly content: Markup;
  readonly status?: number;
  /** Where a form of the page may lead besides here: a browser holds redirects after it to this list, too. */
  readonly leadsTo?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** What may follow `form-action`: an origin, or a scheme that has none. */
function sourceOf(redirectUri: string): string {
  const { origin, protocol } = new URL(redirectUri);
  return origin === 'null' ? protocol : origin;
}

/** A page: no script, no frame, nothing from elsewhere. */
export function pageAnswer(page: Page): OauthAnswer {
  const { title, heading, content, status = 200, leadsTo, headers = {} } = page;
  const formAction = leadsTo === undefined ? "'self'" : `'self' ${sourceOf(leadsTo)}`;
  const { text } = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${title}</title>
<style>${new Markup(PAGE_STYLE)}</style>
</head>
<body>
<main>
<h1>${heading}</h1>
${content}
</main>
</body>
</html>
`;
  return {
    status,
    headers: {
      'Content-Type': 'text/html; charset=utf-8',
      'Cache-Control': 'no-store',
      'Content-Security-Policy': [
        "default-src 'none'",
        `style-src 'sha256-${STYLE_HASH}'`,
        `form-action ${formAction}`,
        "frame-ancestors 'none'",
        "base-uri 'none'",
      ].join('; '),
      'X-Frame-Options': 'DENY',
      'X-Content-Type-Options': 'nosniff',
      'Referrer-Policy': 'no-referrer',
      ...headers,
    },
    body: text,
  };
}
