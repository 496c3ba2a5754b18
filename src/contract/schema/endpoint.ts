import type { z } from 'zod';

export type HttpMethod = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** A header of a request or a response, for the OpenAPI documents. */
export interface HeaderDefinition {
  readonly name: string;
  readonly description: string;
  readonly required?: boolean;
}

/** A successful response of an endpoint. */
export interface ResponseDefinition {
  readonly status: number;
  readonly description: string;
  /** Schema of the body or, for a stream, of the `data` of one event. Absent if there is no JSON body. */
  readonly schema?: z.ZodType;
  /** Defaults to `application/json`. */
  readonly contentType?:
    | 'application/json'
    | 'text/event-stream'
    | 'application/octet-stream'
    | 'text/plain'
    | 'text/html';
  readonly headers?: readonly HeaderDefinition[];
}

/** One row of an API's own error table. */
export interface RefusalDefinition {
  readonly status: number;
  /** One sentence for people. */
  readonly meaning: string;
}

export interface BodyDefinition {
  readonly schema: z.ZodType;
  readonly required: boolean;
}

/** One endpoint as data: its input, its responses and its errors. */
export interface EndpointDefinition<Code extends string = string> {
  readonly method: HttpMethod;
  /** Relative to the base address, with `{name}` for parameters. */
  readonly path: string;
  readonly summary: string;
  /** Further information for callers, in Markdown; absent if the summary is sufficient. */
  readonly description?: string;
  /** A valid body, for the OpenAPI documents. */
  readonly example?: unknown;
  readonly query?: z.ZodObject;
  readonly requestHeaders?: readonly HeaderDefinition[];
  readonly body?: BodyDefinition;
  readonly answers: readonly ResponseDefinition[];
  readonly errors: readonly Code[];
  /** False for the few endpoints that take no credential; defaults to true. */
  readonly credential?: boolean;
}
