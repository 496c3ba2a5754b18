import type { z } from 'zod';
import type { CONNECTOR_ENDPOINTS, ConnectorEndpointName } from '../../contract/connector/endpoints.ts';

type Endpoint<Name extends ConnectorEndpointName> = (typeof CONNECTOR_ENDPOINTS)[Name];
type QueryOf<E> = E extends { readonly query: infer Schema extends z.ZodType } ? z.infer<Schema> : undefined;
type BodyOf<E> = E extends { readonly body: { readonly schema: infer Schema extends z.ZodType } }
  ? z.infer<Schema> | (E extends { readonly body: { readonly required: true } } ? never : undefined)
  : undefined;
type AnswerOf<E> = E extends {
  readonly answers: readonly [{ readonly schema: infer Schema extends z.ZodType }, ...unknown[]];
}
  ? z.infer<Schema>
  : never;

/** A request as its schemas read it. */
export interface ApiCall<Name extends ConnectorEndpointName> {
  /** The `{id}` of the path; empty when it has none. */
  readonly id: string;
  readonly query: QueryOf<Endpoint<Name>>;
  readonly body: BodyOf<Endpoint<Name>>;
}

/** Carries an operation out. Throws an `ApiError` to refuse. */
export type Operation<Name extends ConnectorEndpointName> = (
  call: ApiCall<Name>,
) => Promise<AnswerOf<Endpoint<Name>>>;

/** The operations that exist, by the name that the contract gives them. */
export type Operations = { readonly [Name in ConnectorEndpointName]?: Operation<Name> };
