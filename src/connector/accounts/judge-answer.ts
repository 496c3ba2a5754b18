import { ServiceError, ServiceRefusal } from '../service-client/service-errors.ts';
import type { Verdict } from './settings-trial.ts';

const TRIED = 'SERVICE_BASE_URL or SERVICE_API_KEY';

/**
 * What a failed `GET /connections` shows about the tested settings: the key is refused, there is no service at
 * the address, or nothing. Throws an error that is not a failure of the call.
 */
export function judgeAnswer(error: unknown, baseUrl: string): Verdict {
  if (!(error instanceof ServiceError)) throw error;
  const { status, code, retryAfterMs } = error;
  const { host } = new URL(baseUrl);
  if (isTemporary(error)) {
    const problem =
      `is not used until the service at ${host} has accepted it. ` +
      `It ${status === null ? `does not answer (${code})` : `answers with ${status} ${code}`}; retrying.`;
    return { kind: 'undecided', problem: { setting: TRIED, problem }, retryAfterMs };
  }
  if (error instanceof ServiceRefusal && error.hasCode && (status === 401 || status === 403)) {
    return { kind: 'refused', problem: { setting: 'SERVICE_API_KEY', problem: explainKey(error, host) } };
  }
  return noServiceAt(baseUrl, status);
}

/** Another server answers at this address. */
export function noServiceAt(baseUrl: string, status: number | null): Verdict {
  const problem =
    `is not the address of a service: GET ${baseUrl}/connections was answered with ${status ?? 'something else'}. ` +
    `It must be the complete base address, including /api/v1.`;
  return { kind: 'refused', problem: { setting: 'SERVICE_BASE_URL', problem } };
}

/** True if no service answered, or it fails at the moment. */
function isTemporary({ status, code }: ServiceError): boolean {
  if (status === null) return code !== 'unreadable_answer';
  return status === 408 || status === 429 || status >= 500;
}

function explainKey({ status, code }: ServiceRefusal, host: string): string {
  const refused = `is refused by ${host} (${status} ${code})`;
  switch (code) {
    case 'ip_not_allowed':
      return `${refused}: the address of this machine is not on the allowlist of the key. Add it in the developer portal, or use another key.`;
    case 'insufficient_scope':
      return `${refused}: the key lacks the scope messaging.read. Add the scope in the developer portal, or use another key.`;
    default:
      return `${refused}: it is mistyped, unknown or revoked. Use a valid key.`;
  }
}
