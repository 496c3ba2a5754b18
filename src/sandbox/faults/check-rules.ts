import type { FaultRuleRequest } from '../../contract/sandbox/faults.ts';
import { SERVICE_ENDPOINTS } from '../../contract/service/endpoints.ts';
import type { ErrorCode } from '../../contract/service/errors.ts';
import type { Connection } from '../../platform/connections/read-connections.ts';
import { PlatformError } from '../../platform/kernel/platform-error.ts';
import { RESOURCE_METADATA_PATHS, TOOLS_PATH } from '../../platform/mcp/resource-metadata.ts';
import { DISCOVERY_PATH, OAUTH_PATHS } from '../../platform/oauth/addresses.ts';
import type { Platform } from '../../platform/platform.ts';
import { SandboxError } from '../control/sandbox-error.ts';
import { usualError } from './around-calls.ts';

interface Address {
  readonly path: string;
  readonly method?: string;
  /** Absent: every status is possible. */
  readonly errors?: readonly ErrorCode[];
}

const ADDRESSES: Readonly<Record<'api' | 'oauth', readonly Address[]>> = {
  api: Object.values(SERVICE_ENDPOINTS),
  oauth: [...Object.values(OAUTH_PATHS), DISCOVERY_PATH, TOOLS_PATH, ...RESOURCE_METADATA_PATHS].map(
    (path) => ({ path }),
  ),
};

/** Whether a segment matches one of the table, in which a parameter such as `{id}` matches any text. */
function fitsSegment(segment: string, known: string | undefined, isPrefix: boolean): boolean {
  if (known === undefined) return false;
  if (known.startsWith('{')) return isPrefix || segment !== '';
  return isPrefix ? known.startsWith(segment) : known === segment;
}

/** Whether a pattern can match a request to an endpoint. */
function canFit(pattern: string, { path }: Address): boolean {
  const isOpen = pattern.endsWith('*');
  const segments = (isOpen ? pattern.slice(0, -1) : pattern).split('/');
  // The consent has pages below its path.
  const known = path === OAUTH_PATHS.consent ? [...path.split('/'), '{page}'] : path.split('/');
  if (!isOpen && segments.length !== path.split('/').length && known.length !== segments.length) return false;
  return segments.every((segment, place) =>
    fitsSegment(segment, known[place], isOpen && place === segments.length - 1),
  );
}

/** Why a rule for calls can never match; null if it can. */
function whyNoCall({ match, action }: FaultRuleRequest): [string, string] | null {
  if (match.surface === 'webhook') return null;
  const { surface, method, path } = match;
  const atPath = ADDRESSES[surface].filter((address) => path === undefined || canFit(path, address));
  if (atPath.length === 0) {
    const base = surface === 'api' ? '{base_url}' : '{auth_url}';
    return ['match.path', `matches no call: no such path exists under ${base}`];
  }
  const fitting = atPath.filter((address) => method === undefined || (address.method ?? method) === method);
  if (fitting.length === 0) {
    const methods = new Set(atPath.map((address) => address.method));
    return ['match.method', `matches no call: this path supports only ${[...methods].join(', ')}`];
  }
  if (action.type === 'status' && action.error === undefined) {
    const { code } = action;
    const without = fitting.find(
      ({ errors }) => errors !== undefined && usualError(code, errors) === undefined,
    );
    if (without !== undefined) {
      return [
        'action.error',
        `is missing: ${without.method} ${without.path} has no error of its own for ${code}`,
      ];
    }
  }
  const { method: sends, path: toMessages } = SERVICE_ENDPOINTS.sendMessage;
  const isSend = fitting.some((address) => address.method === sends && address.path === toMessages);
  if (action.type === 'not_persisted' && !isSend) {
    return ['action.type', 'applies only to POST /messages, which the rule does not match'];
  }
  return null;
}

async function findConnection({ connections }: Platform, id: string): Promise<Connection | null> {
  try {
    return await connections.read(id);
  } catch (error) {
    if (error instanceof PlatformError && error.code === 'not_found') return null;
    throw error;
  }
}

/** Why no workspace or connection can match a rule; null if one can. */
async function whyNoReceiver(
  platform: Platform,
  { match }: FaultRuleRequest,
): Promise<[string, string] | null> {
  const workspaceId = 'workspaceId' in match ? match.workspaceId : undefined;
  if (workspaceId !== undefined && !(await platform.workspaces.exists(workspaceId))) {
    return ['match.workspaceId', 'does not exist'];
  }
  if (match.surface !== 'webhook' || match.connectionId === undefined) return null;
  const connection = await findConnection(platform, match.connectionId);
  if (connection === null) return ['match.connectionId', 'does not exist'];
  if (connection.provider === 'cloud_api') {
    return ['match.connectionId', 'a cloud_api connection has no webhook events'];
  }
  const isElsewhere = workspaceId !== undefined && workspaceId !== connection.workspaceId;
  return isElsewhere ? ['match.connectionId', 'belongs to another workspace'] : null;
}

/**
 * Throws `invalid_request`, with the reason, for a rule that could never match: a test with it would prove nothing.
 * `at` is where the rule stands in the body: `rules.0.`.
 */
export async function checkRule(platform: Platform, rule: FaultRuleRequest, at: string): Promise<void> {
  const isNever = rule.probability === 0;
  const never: [string, string] | null = isNever
    ? ['probability', 'must be greater than 0; to disable the rule, leave it out']
    : null;
  const found = never ?? whyNoCall(rule) ?? (await whyNoReceiver(platform, rule));
  if (found === null) return;
  const [key, why] = found;
  const field = `${at}${key}`;
  throw new SandboxError('invalid_request', `'${field}': ${why}.`, field);
}
