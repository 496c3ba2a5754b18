import { scrubUrl } from '../../../runtime/logger/scrub-text.ts';
import { readSubscription, type SubscriptionState } from '../../accounts/subscription-store.ts';
import { isRefusal } from '../../service-client/service-errors.ts';
import type { ServiceCheckInput } from '../check-input.ts';
import { type Check, type Finding, notChecked, ok, problem, warning } from '../finding.ts';
import { ago } from '../wording.ts';

/** Replacing a secret takes seconds. */
const LONG_PENDING_MS = 60_000;

type Stored = SubscriptionState | undefined;

/** The service delivers to this connector, and the connector has its secret. */
export const webhookCheck: Check<ServiceCheckInput> = {
  id: 'webhook',
  title: 'webhook as the service has it',
  async look(input) {
    if (input.account.kind === 'oauth') return OF_APP;
    const asked = await input.service.webhook();
    if (!asked.ok) {
      return isRefusal(asked.error, 'insufficient_scope')
        ? notChecked('The credential lacks the scope messaging.events.')
        : notChecked(`The service did not tell its webhook: ${asked.error.code}.`);
    }
    const { database, account } = input;
    const stored = database === null ? undefined : await readSubscription(database, account.subscriptionId);
    const { url, secretSet } = asked.value;
    return judgeUrl(input, url, stored) ?? judgeSecret(input, secretSet, stored, url ?? '');
  },
};

/** What `GET /webhook` returns for an access token is not specified. */
const OF_APP = notChecked(
  'The webhook of an OAuth app is set where the app is registered, which cannot be asked.',
);

function judgeUrl(input: ServiceCheckInput, url: string | null, stored: Stored): Finding | undefined {
  const { webhookUrl } = input.account;
  if (url === null) return explainNone(webhookUrl);
  const at = scrubUrl(url);
  if (webhookUrl === null) {
    return notChecked(
      `WEBHOOK_PUBLIC_URL is not set, so nobody can say whether ${at}, where the service delivers, is right.`,
    );
  }
  if (url === webhookUrl) return undefined;
  const before = stored?.registeredUrl === webhookUrl;
  const evidence = [`The service delivers to ${at}.`, `WEBHOOK_PUBLIC_URL leads to ${scrubUrl(webhookUrl)}.`];
  if (before)
    evidence.push(
      `This connector registered its own address ${ago(stored.registeredAt, input.clock.now())}.`,
    );
  return problem('The service delivers to another address than this connector.', {
    evidence,
    advice: [
      explainMove(stored, before),
      'To take the webhook back, restart the connector. Whoever has it now loses it.',
    ],
  });
}

function explainNone(webhookUrl: string | null): Finding {
  const says = 'The service has no webhook of this account: it delivers nothing.';
  if (webhookUrl === null) {
    return warning(says, {
      advice: ['Set WEBHOOK_PUBLIC_URL and restart the connector: it registers that address.'],
    });
  }
  return problem(says, {
    evidence: [`It should deliver to ${scrubUrl(webhookUrl)}.`],
    advice: ['Restart the connector: it registers its webhook at start. Its log tells when that fails.'],
  });
}

function explainMove(stored: Stored, before: boolean): string {
  if (before) {
    return 'Somebody registered another address with the same account since; there is one per account. Find out who: a second deployment, a colleague, a test.';
  }
  return stored === undefined
    ? 'Somebody registered another address with the same account, or WEBHOOK_PUBLIC_URL was changed and is not registered yet.'
    : 'WEBHOOK_PUBLIC_URL was changed and the connector has not registered it yet, or could not.';
}

function judgeSecret(input: ServiceCheckInput, secretSet: boolean, stored: Stored, url: string): Finding {
  if (stored === undefined)
    return ok('The service delivers to this connector.', { evidence: [scrubUrl(url)] });
  const evidence = [`${scrubUrl(url)}, registered ${ago(stored.registeredAt, input.clock.now())}.`];
  if (!secretSet || !stored.hasSecret) {
    return problem('The webhook is registered, but its signing secret is not at hand.', {
      evidence,
      advice: ['Restart the connector: it registers the webhook anew and gets a secret.'],
    });
  }
  if (stored.pendingAt !== null && input.clock.now() - stored.pendingAt > LONG_PENDING_MS) {
    return warning('A replacement of the signing secret was begun and has not ended.', {
      evidence: [...evidence, `It was begun ${ago(stored.pendingAt, input.clock.now())}.`],
      advice: [
        'A running connector settles it within a minute. If none runs, start one; its log tells what fails.',
      ],
    });
  }
  return ok('The service delivers to this connector.', { evidence });
}
