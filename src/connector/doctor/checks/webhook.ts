import { scrubUrl } from '../../../runtime/logger/scrub-text.ts';
import { readSubscription, type SubscriptionState } from '../../accounts/subscription-store.ts';
import { isRefusal } from '../../service-client/service-errors.ts';
import { ago } from '../../state/wording.ts';
import type { ServiceCheckInput } from '../check-input.ts';
import { type Check, type Finding, notChecked, ok, problem, warning } from '../finding.ts';

/** Replacing a secret takes seconds. */
const LONG_PENDING_MS = 60_000;

type Stored = SubscriptionState | undefined;

/** The webhook at the service is that of this connector, and the connector has its secret. */
export const webhookCheck: Check<ServiceCheckInput> = {
  id: 'webhook',
  title: 'webhook at the service',
  async run(input) {
    if (input.account.kind === 'oauth') return OF_APP;
    const asked = await input.service.webhook();
    if (!asked.ok) {
      return isRefusal(asked.error, 'insufficient_scope')
        ? notChecked('The credential lacks the scope messaging.events.')
        : notChecked(`GET /webhook failed: ${asked.error.code}.`);
    }
    const { database, account } = input;
    const stored = database === null ? undefined : await readSubscription(database, account.subscriptionId);
    const { url, secretSet } = asked.value;
    return judgeUrl(input, url, stored) ?? judgeSecret(input, secretSet, stored, url ?? '');
  },
};

/** What `GET /webhook` returns for an access token is not specified. */
const OF_APP = notChecked(
  'The webhook of an OAuth app is set in its registration, which the connector cannot read.',
);

function judgeUrl(input: ServiceCheckInput, url: string | null, stored: Stored): Finding | undefined {
  const { webhookUrl } = input.account;
  if (url === null) return explainNone(webhookUrl);
  const at = scrubUrl(url);
  if (webhookUrl === null) {
    return notChecked(
      `WEBHOOK_PUBLIC_URL is not set, so it is unknown whether the service delivers to the right address (${at}).`,
    );
  }
  if (url === webhookUrl) return undefined;
  const before = stored?.registeredUrl === webhookUrl;
  const evidence = [
    `The service delivers to ${at}.`,
    `This connector expects deliveries at ${scrubUrl(webhookUrl)}.`,
  ];
  if (before)
    evidence.push(
      `This connector registered its own address ${ago(stored.registeredAt, input.clock.now())}.`,
    );
  return problem('The service delivers to a different address, not to this connector.', {
    evidence,
    advice: [
      explainMove(stored, before),
      'To register this address again, restart the connector. The other address then receives no deliveries.',
    ],
  });
}

function explainNone(webhookUrl: string | null): Finding {
  const says = 'The service has no webhook for this account, so it delivers nothing.';
  if (webhookUrl === null) {
    return warning(says, {
      advice: ['Set WEBHOOK_PUBLIC_URL and restart the connector: it registers that address.'],
    });
  }
  return problem(says, {
    evidence: [`It should deliver to ${scrubUrl(webhookUrl)}.`],
    advice: ['Restart the connector: it registers its webhook at start. Its log shows whether that failed.'],
  });
}

function explainMove(stored: Stored, before: boolean): string {
  if (before) {
    return 'Since then, a different address was registered with the same account, which has only one webhook. Find out where: in a second deployment, by a colleague, or by a test.';
  }
  return stored === undefined
    ? 'A different address was registered with the same account, or WEBHOOK_PUBLIC_URL was changed and has not been registered yet.'
    : 'WEBHOOK_PUBLIC_URL was changed and the connector has not registered it yet, or failed to.';
}

function judgeSecret(
  input: ServiceCheckInput,
  secretSet: boolean | null,
  stored: Stored,
  url: string,
): Finding {
  if (stored === undefined)
    return ok('The webhook at the service is that of this connector.', { evidence: [scrubUrl(url)] });
  const evidence = [`${scrubUrl(url)}, registered ${ago(stored.registeredAt, input.clock.now())}.`];
  if (secretSet === false || !stored.hasSecret) {
    return problem('The webhook is registered, but its signing secret is missing.', {
      evidence,
      advice: ['Restart the connector: it registers the webhook again and receives a new secret.'],
    });
  }
  if (stored.pendingAt !== null && input.clock.now() - stored.pendingAt > LONG_PENDING_MS) {
    return warning('A replacement of the signing secret has started but not finished.', {
      evidence: [...evidence, `It started ${ago(stored.pendingAt, input.clock.now())}.`],
      advice: [
        'A running connector finishes it within a minute. If none runs, start one. Its log contains the reason of a failure.',
      ],
    });
  }
  return ok('The webhook at the service is that of this connector.', { evidence });
}
