import type { Endpoint } from './endpoint.ts';

/** What a method and a path lead to. */
export type RouteMatch =
  | {
      readonly kind: 'endpoint';
      readonly endpoint: Endpoint;
      readonly params: Readonly<Record<string, string>>;
    }
  /** The path exists for other methods. */
  | { readonly kind: 'wrong_method'; readonly allow: string }
  | { readonly kind: 'unknown' };

const PARAMETER = /^\{(\w+)\}$/;

function decode(segment: string): string | null {
  try {
    return decodeURIComponent(segment);
  } catch {
    return null;
  }
}

/** Parameters of a path that fits the pattern, or null. Segments match exactly, case included. */
function matchSegments(pattern: readonly string[], path: readonly string[]): Record<string, string> | null {
  if (pattern.length !== path.length) return null;
  const params: Record<string, string> = {};
  for (const [index, expected] of pattern.entries()) {
    const given = path[index] ?? '';
    const name = PARAMETER.exec(expected)?.[1];
    if (name === undefined) {
      if (expected !== given) return null;
      continue;
    }
    const value = decode(given);
    if (value === null || value === '') return null;
    params[name] = value;
  }
  return params;
}

/** Makes the look-up in a table of endpoints. A literal segment beats a parameter in the order of the table. */
export function createRouteMatcher(
  endpoints: readonly Endpoint[],
): (method: string, path: string) => RouteMatch {
  const patterns = endpoints.map((endpoint) => ({ endpoint, segments: endpoint.row.path.split('/') }));
  return (method, path) => {
    const given = path.split('/');
    const allow = new Set<string>();
    for (const { endpoint, segments } of patterns) {
      const params = matchSegments(segments, given);
      if (params === null) continue;
      if (endpoint.row.method === method) return { kind: 'endpoint', endpoint, params };
      allow.add(endpoint.row.method);
    }
    return allow.size === 0 ? { kind: 'unknown' } : { kind: 'wrong_method', allow: [...allow].join(', ') };
  };
}
