import { scrubUrl } from '../../../runtime/logger/scrub-text.ts';
import { explainPath } from '../../inbox/webhook-path.ts';
import { readTallies } from '../../state/deliveries.ts';
import { ago, count, span } from '../../state/wording.ts';
import type { ServiceCheckInput } from '../check-input.ts';
import { explainUnreachable } from '../explain-unreachable.ts';
import { type Check, type Finding, notChecked, ok, problem, warning } from '../finding.ts';
import { type ProbedWebhook, probeWebhook } from '../probe-webhook.ts';

const DAY_MS = 24 * 3_600_000;
const RENEW_WITHIN_MS = 14 * DAY_MS;
const LATELY_MS = 3_600_000;
const LEAD_THERE =
  'WEBHOOK_PUBLIC_URL must lead to /webhooks/messaging of the connector that uses this database. Check the path, and how the proxy rewrites it.';

/**
 * The public address of the webhook leads to this receiver. It answers an unsigned request with 401 and a body
 * that no other server sends.
 */
export const webhookAddressCheck: Check<ServiceCheckInput> = {
  id: 'webhook-address',
  title: 'public address of the webhook',
  async run(input) {
    const { account, settings, reach, signal } = input;
    if (account.webhookUrl === null) return notChecked('WEBHOOK_PUBLIC_URL is not set.');
    if (isLoopback(settings.service?.baseUrl ?? account.baseUrl) && reach.lookup === undefined) {
      const path = explainPath(settings.webhookPublicUrl ?? account.webhookUrl);
      if (path !== null) return warning(path, { advice: [LEAD_THERE] });
      return notChecked('The service runs on this machine and reaches the connector through its own tunnel.');
    }
    const at = scrubUrl(account.webhookUrl);
    let probed: ProbedWebhook;
    try {
      probed = await probeWebhook(account.webhookUrl, reach, signal);
    } catch (error) {
      return await explainNoAnswer(input, error, at);
    }
    return judge(probed, at, input.clock.now());
  },
};

function judge(probed: ProbedWebhook, at: string, now: number): Finding {
  const evidence = [`An unsigned POST to ${at} was answered with ${describe(probed)}.`];
  if (probed.status === 401 && probed.error === 'invalid_signature') {
    const left = probed.certificateEndsAt === null ? null : probed.certificateEndsAt - now;
    if (left !== null && left < RENEW_WITHIN_MS) {
      return warning(`The certificate of the webhook's address expires in ${span(left)}.`, {
        evidence,
        advice: ['Renew it: the service does not deliver to an address without a valid certificate.'],
      });
    }
    return ok('The address reaches this receiver, which refuses unsigned requests.', { evidence });
  }
  return explainAnswer(probed, evidence);
}

function explainAnswer({ status, error, location }: ProbedWebhook, evidence: string[]): Finding {
  if (status >= 300 && status < 400) {
    const to = location === null ? '' : ` The redirect leads to ${scrubUrl(location)}.`;
    return problem('The address redirects, and the service follows no redirects, so every delivery fails.', {
      evidence,
      advice: [`Set WEBHOOK_PUBLIC_URL to the address that answers without a redirect.${to}`],
    });
  }
  if (status === 404 && error === 'not_found') {
    return problem('A connector answers at the address, but does not know this webhook path.', {
      evidence,
      advice: [LEAD_THERE],
    });
  }
  if (status === 503 && error === 'unavailable') {
    return problem('The receiver answers, but cannot store deliveries in its database.', {
      evidence,
      advice: ['See the check database and the log of the connector.'],
    });
  }
  if (status === 502 || status === 503 || status === 504) {
    return problem('A proxy answers, but does not reach the connector.', {
      evidence,
      advice: ['Start the connector, or correct the address to which the proxy forwards requests.'],
    });
  }
  return problem('Something other than this receiver answers at the address of the webhook.', {
    evidence,
    advice: [
      'WEBHOOK_PUBLIC_URL must lead to /webhooks/messaging of the connector, without a login, page or filter of a proxy in between.',
    ],
  });
}

async function explainNoAnswer(input: ServiceCheckInput, error: unknown, at: string): Promise<Finding> {
  const { database, account, clock, signal } = input;
  const { says, advice } = explainUnreachable(
    signal.aborted ? Object.assign(new Error(), { code: 'deadline' }) : error,
    URL.parse(account.webhookUrl ?? '')?.host ?? at,
  );
  const tallies =
    database === null ? null : await readTallies(database, clock.now() - LATELY_MS, account.subscriptionId);
  const accepted = tallies?.get('accepted');
  if (accepted !== undefined) {
    return warning(`${says} Deliveries arrive nevertheless.`, {
      evidence: [
        `${count(accepted.count, 'delivery was', 'deliveries were')} accepted in the last hour, the last ${ago(accepted.lastAt, clock.now())}.`,
      ],
      advice: [
        'This machine probably cannot reach its own public address. No action is needed as long as deliveries arrive.',
      ],
    });
  }
  return problem(says, {
    evidence: [`A POST to ${at} was not answered, and no delivery was accepted in the last hour.`],
    advice: [
      advice,
      `From a machine outside your network, curl -i -X POST ${at} must return 401 invalid_signature.`,
    ],
  });
}

function describe({ status, error }: ProbedWebhook): string {
  return error === null ? String(status) : `${status} ${error.slice(0, 60)}`;
}

function isLoopback(address: string | null): boolean {
  const host = address === null ? '' : (URL.parse(address)?.hostname ?? '');
  return host === 'localhost' || host === '[::1]' || /^127\./.test(host);
}
