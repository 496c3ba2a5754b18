import { ServiceRefusal, ServiceUnreachable } from '../../service-client/service-errors.ts';
import type { DoctorSettings, ExaminedAccount, ServiceCheckInput } from '../check-input.ts';
import { explainUnreachable } from '../explain-unreachable.ts';
import { type Check, type Finding, ok, problem, warning } from '../finding.ts';
import { count, howToConsent, inPortal, span } from '../wording.ts';

const SLOW_MS = 5_000;

/** The service can be reached and accepts the credential. */
export const serviceCheck: Check<ServiceCheckInput> = {
  id: 'service',
  title: 'the service answers',
  async look({ account, service, settings }) {
    const asked = await service.connections();
    if (!asked.ok) return explainFailure(asked.error, account, settings);
    const evidence = [
      `GET /connections answered in ${span(asked.ms)} with ${count(asked.value.length, 'connection')}.`,
    ];
    return asked.ms > SLOW_MS
      ? warning('The service answers slowly.', {
          evidence,
          advice: ['Ask again later; if it stays so, look at the network between here and the service.'],
        })
      : ok('The service answers and takes the credential.', { evidence });
  },
};

/** True if no other call can succeed: the service does not answer, or it refuses the credential. */
export function isShut(finding: Finding): boolean {
  return finding.verdict === 'problem' && !finding.says.includes('messaging.read');
}

function explainFailure(
  error: unknown,
  { id, kind, ...account }: ExaminedAccount,
  settings: DoctorSettings,
): Finding {
  const baseUrl = account.baseUrl ?? '';
  if (error instanceof ServiceUnreachable) {
    const { says, advice } = explainUnreachable(error, URL.parse(baseUrl)?.host ?? 'the service');
    return problem(says, { evidence: [`SERVICE_BASE_URL is ${baseUrl}.`], advice: [advice] });
  }
  if (!(error instanceof ServiceRefusal)) {
    return problem('What answers is not the service: its answer cannot be read.', {
      evidence: [`GET ${baseUrl}/connections`],
      advice: ['Check SERVICE_BASE_URL: it ends in /api/v1 and leads past no page of a proxy.'],
    });
  }
  const evidence = [`GET /connections was answered ${error.status} ${error.code}.`];
  switch (error.code) {
    case 'invalid_key':
      return problem('The service refuses the API key: it is unknown or was revoked.', {
        evidence,
        advice: [
          `Make a new key ${inPortal(settings, 'POST /workspaces/{id}/api-keys')}, put it into SERVICE_API_KEY and restart the connector.`,
          'Sends wait meanwhile, and go out with a good key; its first poll catches up.',
        ],
      });
    case 'ip_not_allowed':
      return problem('The address of this machine is not on the allow-list of the API key.', {
        evidence,
        advice: [
          `Add the public address of this machine to the key ${inPortal(settings, 'PATCH /api-keys/{id}')}.`,
          'Behind a proxy or NAT it is the address of that one. All connector processes need it.',
        ],
      });
    case 'insufficient_scope':
      return problem('The credential lacks the scope messaging.read, so nothing can be polled.', {
        evidence,
        advice: [
          kind === 'oauth'
            ? `It takes a new consent, with this scope. ${howToConsent(id)}`
            : `Give the key the scope messaging.read ${inPortal(settings, 'PATCH /api-keys/{id}')}; it counts from the next call on.`,
        ],
      });
    case 'rate_limited':
      return warning('The service asks to wait.', {
        evidence,
        advice: ['Nothing to do now. If it stays so, see who else uses the same key.'],
      });
    default:
      return explainStatus(error, evidence, baseUrl);
  }
}

function explainStatus({ status }: ServiceRefusal, evidence: string[], baseUrl: string): Finding {
  if (status >= 500) {
    return problem('The service, or a proxy before it, fails.', {
      evidence,
      advice: [
        'Wait, and ask its operators: nothing on this side makes it work. Polling catches up afterwards.',
      ],
    });
  }
  return problem('The service refuses the call.', {
    evidence: [...evidence, `SERVICE_BASE_URL is ${baseUrl}.`],
    advice: ['Check SERVICE_BASE_URL: it is the whole base address, /api/v1 included.'],
  });
}
