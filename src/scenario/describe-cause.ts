import { CONNECTOR_ENDPOINTS } from '../contract/connector/endpoints.ts';
import { SANDBOX_ENDPOINTS } from '../contract/sandbox/endpoints.ts';
import type { CauseSurface } from '../contract/sandbox/recording.ts';
import { SERVICE_ENDPOINTS } from '../contract/service/endpoints.ts';
import type { Cause } from './scenario.ts';

interface Described {
  readonly method: string;
  readonly path: string;
  readonly summary: string;
}

const ENDPOINTS: Readonly<Record<CauseSurface, readonly Described[]>> = {
  sandbox: Object.values(SANDBOX_ENDPOINTS),
  service: Object.values(SERVICE_ENDPOINTS),
  connector: Object.values(CONNECTOR_ENDPOINTS),
};

/** What a cause does, in the words of its API; null for a call that is in no contract. */
export function summarize({ surface, method, path }: Cause): string | null {
  const [plain = ''] = path.split('?', 1);
  const fits = (endpoint: Described): boolean => {
    const pattern = endpoint.path.replace(/\{\w+\}/g, '[^/]+');
    return endpoint.method === method && new RegExp(`^${pattern}$`).test(plain);
  };
  // A fixed path precedes one with a parameter that would match it.
  const found = ENDPOINTS[surface].filter(fits).sort((a, b) => braces(a) - braces(b));
  return found[0]?.summary ?? null;
}

function braces({ path }: Described): number {
  return path.split('{').length;
}

/** A duration as `0:07.250` or `26:00:00.000`. */
export function showOffset(ms: number): string {
  const pad = (value: number, digits = 2): string => String(Math.floor(value)).padStart(digits, '0');
  const hours = ms >= 3_600_000 ? `${Math.floor(ms / 3_600_000)}:` : '';
  return `${hours}${pad((ms / 60_000) % 60)}:${pad((ms / 1_000) % 60)}.${pad(ms % 1_000, 3)}`;
}
