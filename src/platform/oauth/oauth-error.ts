import type { OauthCheck } from '../kernel/checks.ts';
import { Refusal } from '../kernel/platform-error.ts';

/** The error codes of RFC 6749 (4.1.2.1 and 5.2) and RFC 8707 (2) that this server uses. */
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

/** The check that refuses with a code, unless the error names another; null: an internal error. */
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
 * A refusal by the rules of OAuth. `description` is for developers, in the characters that RFC 6749 allows; it never
 * repeats the input. Any other error is an internal error.
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

/** A refusal on a page, because there is no checked redirect URI. `message` is a sentence for the user. */
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
