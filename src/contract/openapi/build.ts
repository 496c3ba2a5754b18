import type { z } from 'zod';
import type { EndpointDefinition } from '../schema/endpoint.ts';
import type { OpenApiDocument, OpenApiOperation, OpenApiPath, OpenApiSecurityScheme } from './document.ts';
import { describeOperation } from './operation.ts';
import { namedSchemas, openSchemaBook, type SchemaBook } from './schemas.ts';

/** The input of an OpenAPI document. */
export interface DocumentSource {
  readonly info: OpenApiDocument['info'];
  readonly serverUrl: string;
  readonly endpoints: readonly (readonly [name: string, endpoint: EndpointDefinition])[];
  /** Modules whose exported schemas become named components. */
  readonly modules: readonly object[];
  readonly errorBody: z.ZodType;
  readonly error: (code: string) => { readonly statuses: readonly number[]; readonly meaning: string };
  readonly securitySchemes: Readonly<Record<string, OpenApiSecurityScheme>>;
  /** The security requirement of an endpoint. */
  readonly security: (endpoint: EndpointDefinition) => OpenApiOperation['security'];
  readonly webhooks?: (book: SchemaBook) => Readonly<Record<string, OpenApiPath>>;
}

/** Builds a document. Throws if two endpoints share a method and path. */
export function buildDocument(source: DocumentSource): OpenApiDocument {
  const book = openSchemaBook(namedSchemas(...source.modules));
  const paths: Record<string, Record<string, OpenApiOperation>> = {};
  for (const [name, endpoint] of source.endpoints) {
    const path = paths[endpoint.path] ?? {};
    paths[endpoint.path] = path;
    const method = endpoint.method.toLowerCase();
    if (path[method] !== undefined) throw new Error(`two endpoints at ${endpoint.method} ${endpoint.path}`);
    path[method] = describeOperation(name, endpoint, {
      book,
      errorBody: source.errorBody,
      error: source.error,
      security: source.security(endpoint),
    });
  }
  const webhooks = source.webhooks?.(book);
  return {
    openapi: '3.1.0',
    info: source.info,
    servers: [{ url: source.serverUrl }],
    paths,
    ...(webhooks && { webhooks }),
    components: { schemas: book.components(), securitySchemes: source.securitySchemes },
  };
}
