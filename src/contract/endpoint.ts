import type { z } from 'zod';

export type HttpMethod = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** A header of a request or an answer, for documents. */
export interface HeaderDefinition {
  readonly name: string;
  readonly description: string;
  readonly required?: boolean;
}

/** A successful answer of an endpoint. */
export interface AnswerDefinition {
  readonly status: number;
  readonly description: string;
  /** Shape of the body; of the `data` of one event when the answer is a stream. Absent: no JSON body. */
  readonly schema?: z.ZodType;
  /** `application/json` unless told. */
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

/** The body of a request. */
export interface BodyDefinition {
  readonly schema: z.ZodType;
  readonly required: boolean;
}

/** One endpoint as data: what goes in, what comes out, and which errors it can answer. */
export interface EndpointDefinition<Code extends string = string> {
  readonly method: HttpMethod;
  /** Relative to the base address, with `{name}` for parameters. */
  readonly path: string;
  readonly summary: string;
  /** What else its caller must know, in Markdown; absent: the summary says it all. */
  readonly description?: string;
  /** A body that is right, for documents. */
  readonly example?: unknown;
  readonly query?: z.ZodObject;
  readonly requestHeaders?: readonly HeaderDefinition[];
  readonly body?: BodyDefinition;
  readonly answers: readonly AnswerDefinition[];
  readonly errors: readonly Code[];
  /** False for the few endpoints that take no credential; true unless told. */
  readonly credential?: boolean;
}
