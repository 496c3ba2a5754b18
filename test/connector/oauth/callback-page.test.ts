import { expect, test } from 'vitest';
import { pageOf } from '../../../src/connector/oauth/callback-page.ts';

test('the page after a consent shows an error code of the service as text', () => {
  const code = '<meta http-equiv="refresh" content="0;url=https://elsewhere.example">';
  const { html } = pageOf({ end: { kind: 'failed', code }, returnUrl: null });
  expect(html).not.toContain('<meta http-equiv="refresh"');
  expect(html).toContain('<code>&lt;meta http-equiv=&quot;refresh&quot;');
});
