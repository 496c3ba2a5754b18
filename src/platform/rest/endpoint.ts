import type { IncomingMessage } from 'node:http';
import type { Request } from 'express';
import type { Scope } from '../../contract/service/scopes.ts';
import type { WorkspaceKind } from '../../contract/service/statuses.ts';
import type { Answer } from '../calls/answer.ts';
import type { Credential } from '../credentials/credential.ts';

/** The unchecked input of a request. */
export interface RawInput {
  /** Path parameters by name, decoded. */
  readonly params: Request['params'];
  /** The query parameters of the endpoint's row by name; none was repeated. */
  readonly query: Readonly<Record<string, string>>;
  /** Parsed JSON; undefined without a body, or if the endpoint reads the body itself. */
  readonly body: unknown;
  /** For headers: `headersDistinct` has all values of each. */
  readonly request: IncomingMessage;
}

/** The data of an endpoint that the gate checks, from its row in the contract's table. */
export interface EndpointRow {
  readonly method: string;
  readonly path: string;
  readonly scope: Scope;
  readonly query?: { readonly shape: object };
  readonly body?: object;
}

/** An endpoint for the gate. */
export interface Endpoint {
  readonly row: EndpointRow;
  /** The kind of workspace that may call it; absent: both. */
  readonly onlyFor?: WorkspaceKind;
  /** True if the endpoint reads the body from the request, because it may be too large for memory. */
  readonly readsOwnBody?: boolean;
  /** Checks the shape of the input and returns the handler to run. Throws the refusal of an invalid shape. */
  prepare(input: RawInput): Promise<(credential: Credential) => Promise<Answer>>;
}

interface EndpointParts<Input> extends Omit<Endpoint, 'prepare'> {
  /** The checked input. Throws `PlatformError`. */
  read(input: RawInput): Input | Promise<Input>;
  handle(credential: Credential, input: Input): Promise<Answer>;
}

/** Defines an endpoint from its row, its input parser and its handler. */
export function defineEndpoint<Input>({ read, handle, ...rest }: EndpointParts<Input>): Endpoint {
  return {
    ...rest,
    async prepare(raw) {
      const input = await read(raw);
      return (credential) => handle(credential, input);
    },
  };
}

/** For endpoints without input. */
export function readNothing(): void {}

/** A 200. */
export function ok(body: object): Answer {
  return { status: 200, body };
}
