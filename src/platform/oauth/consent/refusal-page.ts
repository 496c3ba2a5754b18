import { html } from '../../../runtime/page/page.ts';
import type { Answer } from '../../calls/answer.ts';
import type { PageRefusal } from '../oauth-error.ts';
import { pageAnswer } from './consent-view.ts';

/** The page for a refusal that must not be redirected to the app. */
export function refusalPage(refused: PageRefusal): Answer {
  const content = html`<p role="alert">${refused.message}</p>
<p class="soft">Nothing was shared. Return to the app and contact its developer.</p>`;
  const title = 'Invalid request';
  return { ...pageAnswer({ title, heading: html`${title}`, content }, 400), refused };
}
