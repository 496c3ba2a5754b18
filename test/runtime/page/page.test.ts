import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { html, plainName, renderPage, shownName } from '../../../src/runtime/page/page.ts';

const PAGE = { title: 'Title', owner: 'Owner', heading: html`Heading`, content: html`<p>Content</p>` };

describe('a page', () => {
  it('may only use its own style: no script, no frame, and only named forms', () => {
    const { html: text, headers } = renderPage(PAGE);
    const style = /<style>([\s\S]*)<\/style>/.exec(text)?.[1] ?? '';
    const hash = createHash('sha256').update(style).digest('base64');
    expect(headers['Content-Security-Policy']).toBe(
      `default-src 'none'; style-src 'sha256-${hash}'; form-action 'none'; frame-ancestors 'none'; base-uri 'none'`,
    );
    expect(text).not.toMatch(/<script| style="| on\w+="/);
    expect(text).toContain('<p><strong>Owner</strong></p></header>');
    expect(headers['Cache-Control']).toBe('no-store');
    expect(
      renderPage({ ...PAGE, formTargets: ["'self'", 'https://crm.example'] }).headers[
        'Content-Security-Policy'
      ],
    ).toContain("; form-action 'self' https://crm.example;");
  });

  it('shows untrusted values as text, also in attributes', () => {
    const evil = `"><script>alert(1)</script>&'\u202e`;
    const { html: text } = renderPage({
      ...PAGE,
      title: evil,
      owner: evil,
      about: html`${evil}`,
      heading: shownName(evil),
      refreshTo: `https://crm.example/?a=1&b="><script>`,
    });
    expect(text).not.toContain('<script');
    expect(text).toContain('<h1><bdi>&quot;&gt;&lt;script&gt;alert(1)&lt;/script&gt;&amp;&#39;</bdi></h1>');
    expect(text).toContain('url=https://crm.example/?a=1&amp;b=&quot;&gt;&lt;script&gt;">');
  });

  it.each([
    ['Pay\u200bPal', 'PayPal'],
    ['Pay\u00adPal\u2060\ufeff', 'PayPal'],
    ['A\u3164\u115f\u1160\uffa0B', 'AB'],
    ['A\u034f\ufe0f\u{e0041}\u{e0100}\u180eB', 'AB'],
    ['A\u2800\u2800\u2003\u00a0\t\nB', 'A B'],
    ['\u202eevil\u2066', 'evil'],
    ['\ue000A\u{10ffff}', 'A'],
    ['\u3164\u200b\u2800', '(no name)'],
    ['', '(no name)'],
    ['Café 日本 👋', 'Café 日本 👋'],
  ])('shows the visible characters of the name %j', (name, shown) => {
    expect(plainName(name)).toBe(shown);
  });
});
