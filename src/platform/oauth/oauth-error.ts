import type { OauthCheck } from '../kernel/checks.ts';
import { Refusal } from '../kernel/platform-error.ts';

/** The error codes of RFC 6749 (4.1.2.1 and 5.2) and RFC 8707 (2) that this server answers. */
export type OauthErrorCode =
  | 'invalid_request'
  | 'invalid_client'
  | 'invalid_grant'
  | 'unsupported_grant_type'
  | 'unsupported_response_type'
  | 'invalid_scope'
  | 'invalid_target'
  | 'access_denied'
  | 'server_error';

/** Which check refuses with a code, where whoever throws names no other; null: the server failed. */
const CHECK_OF_CODE: Readonly<Record<OauthErrorCode, OauthCheck | null>> = {
  invalid_request: 'parameters',
  invalid_client: 'client',
  invalid_grant: 'grant',
  unsupported_grant_type: 'grant_type',
  unsupported_response_type: 'parameters',
  invalid_scope: 'scope',
  invalid_target: 'resource',
  access_denied: 'consent',
  server_error: null,
};

/**
 * A refusal by the rules of OAuth. `description` is a sentence for developers, in the characters that RFC 6749
 * allows there; it repeats nothing that was sent. Anything else that is thrown is a failure of ours.
 */
export class OauthError extends Refusal {
  override readonly name = 'OauthError';
  readonly code: OauthErrorCode;
  readonly description: string;
  readonly check: OauthCheck | null;

  constructor(code: OauthErrorCode, description: string, check: OauthCheck | null = CHECK_OF_CODE[code]) {
    super(`${code}: ${description}`);
    this.code = code;
    this.description = description;
    this.check = check;
  }

  override get reason(): string {
    return this.description;
  }
}

/** A refusal that a person reads here, since nobody knows where to send it. `message` is a sentence for them. */
export class PageRefusal extends Refusal {
  override readonly name = 'PageRefusal';
  readonly code = 'invalid_request';
  readonly check: OauthCheck;

  constructor(check: OauthCheck, message: string) {
    super(message);
    this.check = check;
  }

  override get reason(): string {
    return this.message;
  }
}
