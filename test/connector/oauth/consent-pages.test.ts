import { expect, test } from 'vitest';
import { createConsentPages } from '../../../src/connector/oauth/consent-pages.ts';

const pages = createConsentPages({
  publicUrl: 'https://connect.crm.example',
  authUrl: 'https://auth.service.example',
});

test('the page after a consent shows an error code of the service as text', () => {
  const code = '<meta http-equiv="refresh" content="0;url=https://elsewhere.example">';
  const { html } = pages.end({ end: { kind: 'failed', code }, returnUrl: null });
  expect(html).not.toContain('<meta http-equiv="refresh"');
  expect(html).toContain('<code>&lt;meta http-equiv=&quot;refresh&quot;');
});

test('the page after a consent shows numbers with their labels, and no id', () => {
  const numbers = [
    { phoneNumber: '447700900111', label: 'Bakery' },
    { phoneNumber: null, label: '<b>New</b>' },
    { phoneNumber: '447700900122', label: '447700900122' },
  ];
  const end = { kind: 'connected', accountId: 'account-1', again: false, numbers } as const;
  const { html } = pages.end({ end, returnUrl: null });
  expect(html).toContain('<li>+447700900111 <span class="soft"><bdi>Bakery</bdi></span></li>');
  expect(html).toContain(
    '<li>Not paired yet <span class="soft"><bdi>&lt;b&gt;New&lt;/b&gt;</bdi></span></li>',
  );
  expect(html).toContain('<li>+447700900122</li>');
  expect(html).toContain('These numbers are connected.');
  expect(html).not.toContain('account-1');
});

test('each page names its owner, and the first one also who will read the numbers', () => {
  const ended = pages.end({ end: { kind: 'other_browser' }, returnUrl: null });
  const flow = { label: 'Bakery \u202e<script>', returnUrl: 'https://app.crm.example/done?customer=42' };
  const ask = pages.ask(flow, false);
  for (const { html } of [ended, ask, pages.unavailable, pages.head]) {
    expect(html).toContain('<strong>connect.crm.example</strong>');
    expect(html).toContain('auth.service.example');
  }
  expect(ask.html).toContain('the account <strong><bdi>Bakery &lt;script&gt;</bdi></strong>');
  expect(ask.html).toContain('at <strong>app.crm.example</strong>');
  const cookieMissing = 'Your browser did not send the cookie of this page.';
  expect([ask, pages.ask(flow, true)].map(({ html }) => html.includes(cookieMissing))).toEqual([false, true]);
  expect(ask.headers['Content-Security-Policy']).toContain(
    // A service may sign users in at other hosts, to which the form is redirected.
    "form-action 'self' https: https://auth.service.example;",
  );
});
