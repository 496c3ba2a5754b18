import type { IncomingMessage } from 'node:http';
import type { Request } from 'express';
import type { Scope } from '../../contract/service/scopes.ts';
import type { WorkspaceKind } from '../../contract/service/statuses.ts';
import type { Answer } from '../calls/answer.ts';
import type { Credential } from '../credentials/credential.ts';

/** What a request says, before anyone believes it. */
export interface RawInput {
  /** Path parameters by name, decoded. */
  readonly params: Request['params'];
  /** The query parameters of the endpoint's row by name; each was given once. */
  readonly query: Readonly<Record<string, string>>;
  /** Parsed JSON; undefined without a body, or where the endpoint reads it by itself. */
  readonly body: unknown;
  /** For headers: `headersDistinct` has every value of each. */
  readonly request: IncomingMessage;
  /** Who calls: bodies that are large take room of the workspace. */
  readonly credential: Credential;
}

/** What the gate checks before an endpoint is asked: its row in the contract's table, and a little more. */
export interface EndpointRow {
  readonly method: string;
  readonly path: string;
  readonly scope: Scope;
  readonly query?: { readonly shape: object };
  readonly body?: object;
}

/** An endpoint as the gate sees it. */
export interface Endpoint {
  readonly row: EndpointRow;
  /** The only kind of workspace that may call it; absent: both. */
  readonly onlyFor?: WorkspaceKind;
  /** The body may be too large to be held; the endpoint reads it from the request. */
  readonly readsOwnBody?: boolean;
  /** Checks the shape of the input and answers what to run then. Throws the refusal of a bad shape. */
  prepare(input: RawInput): Promise<(credential: Credential) => Promise<Answer>>;
}

interface EndpointParts<Input> extends Omit<Endpoint, 'prepare'> {
  /** The checked input. Throws `PlatformError`. */
  read(input: RawInput): Input | Promise<Input>;
  handle(credential: Credential, input: Input): Promise<Answer>;
}

/** Joins the row of an endpoint, its reading of the input and its handler. */
export function defineEndpoint<Input>({ read, handle, ...rest }: EndpointParts<Input>): Endpoint {
  return {
    ...rest,
    async prepare(raw) {
      const input = await read(raw);
      return (credential) => handle(credential, input);
    },
  };
}

/** For endpoints that read nothing from the request. */
export function readNothing(): void {}

/** A 200. */
export function ok(body: object): Answer {
  return { status: 200, body };
}
