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

/** A request header, if the endpoint takes one. */
type HeaderOf<E> = E extends { readonly requestHeaders: readonly unknown[] }
  ? { readonly header: (name: string) => string | undefined }
  : unknown;
/** A response other than the first one of the endpoint, if it has several. */
type OtherAnswerOf<E> = E extends { readonly answers: readonly [unknown, unknown, ...unknown[]] }
  ? OtherAnswer<AnswerOf<E>>
  : never;

/** A request after validation by its schemas. */
export type ApiCall<Name extends ConnectorEndpointName> = HeaderOf<Endpoint<Name>> & {
  /** The `{id}` of the path; empty if the path has none. */
  readonly id: string;
  readonly query: QueryOf<Endpoint<Name>>;
  readonly body: BodyOf<Endpoint<Name>>;
};

/** A response with another status than the first one of its endpoint, or with headers. */
export class OtherAnswer<Body> {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Body;

  constructor(status: number, headers: Readonly<Record<string, string>>, body: Body) {
    this.status = status;
    this.headers = headers;
    this.body = body;
  }
}

/** Executes an operation. Throws an `ApiError` to reject the request. */
export type Operation<Name extends ConnectorEndpointName> = (
  call: ApiCall<Name>,
) => Promise<AnswerOf<Endpoint<Name>> | OtherAnswerOf<Endpoint<Name>>>;

/** All operations, by the name that the contract gives them. */
export type Operations = { readonly [Name in ConnectorEndpointName]?: Operation<Name> };
