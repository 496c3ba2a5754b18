import { scrubUrl } from '../../../runtime/logger/scrub-text.ts';
import { readTallies } from '../../state/deliveries.ts';
import type { ServiceCheckInput } from '../check-input.ts';
import { explainUnreachable } from '../explain-unreachable.ts';
import { type Check, type Finding, notChecked, ok, problem, warning } from '../finding.ts';
import { type ProbedWebhook, probeWebhook } from '../probe-webhook.ts';
import { ago, span } from '../wording.ts';

const DAY_MS = 24 * 3_600_000;
const RENEW_WITHIN_MS = 14 * DAY_MS;
const LATELY_MS = 3_600_000;

/**
 * The public address of the webhook leads to this receiver. It answers an unsigned request with 401 and a body
 * that no other server sends.
 */
export const webhookAddressCheck: Check<ServiceCheckInput> = {
  id: 'webhook-address',
  title: 'public address of the webhook',
  async look(input) {
    const { account, settings, reach, signal } = input;
    if (account.webhookUrl === null) return notChecked('WEBHOOK_PUBLIC_URL is not set.');
    if (isLoopback(settings.service?.baseUrl ?? account.baseUrl) && reach.lookup === undefined) {
      return notChecked(
        'The service runs on this machine, and reaches the connector by a tunnel of its own.',
      );
    }
    const at = scrubUrl(account.webhookUrl);
    let probed: ProbedWebhook;
    try {
      probed = await probeWebhook(account.webhookUrl, reach, signal);
    } catch (error) {
      return await explainSilence(input, error, at);
    }
    return judge(probed, at, input.clock.now());
  },
};

function judge(probed: ProbedWebhook, at: string, now: number): Finding {
  const evidence = [`An unsigned POST to ${at} was answered ${describe(probed)}.`];
  if (probed.status === 401 && probed.error === 'invalid_signature') {
    const left = probed.certificateEndsAt === null ? null : probed.certificateEndsAt - now;
    if (left !== null && left < RENEW_WITHIN_MS) {
      return warning(`The certificate of the webhook's address ends in ${span(left)}.`, {
        evidence,
        advice: ['Renew it: the service delivers nothing to an address that it cannot trust.'],
      });
    }
    return ok('The address leads to this receiver, which refuses what is not signed.', { evidence });
  }
  return problem(...explainAnswer(probed, evidence));
}

function explainAnswer(
  { status, error, location }: ProbedWebhook,
  evidence: string[],
): Parameters<typeof problem> {
  if (status >= 300 && status < 400) {
    const to = location === null ? '' : ` It leads to ${scrubUrl(location)}.`;
    return [
      'The address redirects, and the service follows no redirect: every delivery fails.',
      { evidence, advice: [`Put the address that answers itself into WEBHOOK_PUBLIC_URL.${to}`] },
    ];
  }
  if (status === 404 && error === 'not_found') {
    return [
      'A connector answers there, but does not know this webhook path.',
      {
        evidence,
        advice: [
          'WEBHOOK_PUBLIC_URL must lead to /webhooks/messaging of the connector that has this database: check the path, and what the proxy makes of it.',
        ],
      },
    ];
  }
  if (status === 503 && error === 'unavailable') {
    return [
      'The receiver answers there, but its database cannot take deliveries.',
      { evidence, advice: ['See what is said about the database; the log of the connector tells more.'] },
    ];
  }
  if (status === 502 || status === 503 || status === 504) {
    return [
      'A proxy answers there, and does not reach the connector.',
      {
        evidence,
        advice: ['Start the connector, or correct the address that the proxy passes requests on to.'],
      },
    ];
  }
  return [
    'Something else than this receiver answers at the address of the webhook.',
    {
      evidence,
      advice: [
        'Make WEBHOOK_PUBLIC_URL lead to /webhooks/messaging of the connector, past logins, pages and filters of a proxy.',
      ],
    },
  ];
}

async function explainSilence(input: ServiceCheckInput, error: unknown, at: string): Promise<Finding> {
  const { database, account, clock, signal } = input;
  const { says, advice } = explainUnreachable(
    signal.aborted ? Object.assign(new Error(), { code: 'deadline' }) : error,
    URL.parse(account.webhookUrl ?? '')?.host ?? at,
  );
  const tallies =
    database === null ? null : await readTallies(database, clock.now() - LATELY_MS, account.subscriptionId);
  const taken = tallies?.get('taken');
  if (taken !== undefined) {
    return warning(`${says} Deliveries arrive all the same.`, {
      evidence: [
        `The last delivery was taken ${ago(taken.lastAt, clock.now())}; ${taken.count} in the last hour.`,
      ],
      advice: [
        'Probably this machine may not use its own public address. Nothing to do, as long as they arrive.',
      ],
    });
  }
  return problem(says, {
    evidence: [`A POST to ${at} got no answer, and no delivery was taken in the last hour.`],
    advice: [advice, `From a machine outside, curl -i -X POST ${at} must answer 401 invalid_signature.`],
  });
}

function describe({ status, error }: ProbedWebhook): string {
  return error === null ? String(status) : `${status} ${error.slice(0, 60)}`;
}

function isLoopback(address: string | null): boolean {
  const host = address === null ? '' : (URL.parse(address)?.hostname ?? '');
  return host === 'localhost' || host === '[::1]' || /^127\./.test(host);
}
