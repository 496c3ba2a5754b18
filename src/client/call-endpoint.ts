import type { z } from 'zod';
import type { EndpointDefinition } from '../contract/schema/endpoint.ts';

export interface EndpointInput {
  /** Parameters of the path by their names. */
  readonly params?: Readonly<Record<string, string>>;
  /** Undefined values are omitted. */
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>;
}

/** The address of a call, relative to that of its API. */
export function fillAddress(
  { path }: EndpointDefinition,
  { params = {}, query = {} }: EndpointInput,
): string {
  const filled = path.replace(/\{(\w+)\}/g, (_, key: string) => encodeURIComponent(params[key] ?? ''));
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) search.set(name, String(value));
  return search.size === 0 ? filled : `${filled}?${search}`;
}

/** The JSON answer of an endpoint. */
export type AnswerOf<Endpoint extends EndpointDefinition> = Endpoint['answers'][number] extends {
  readonly schema: infer Schema extends z.ZodType;
}
  ? z.output<Schema>
  : never;
