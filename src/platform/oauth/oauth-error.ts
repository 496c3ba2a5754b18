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

/**
 * A refusal by the rules of OAuth. `description` is a sentence for developers, in the characters that RFC 6749
 * allows there; it repeats nothing that was sent. Anything else that is thrown is a failure of ours.
 */
export class OauthError extends Error {
  override readonly name = 'OauthError';
  readonly code: OauthErrorCode;
  readonly description: string;

  constructor(code: OauthErrorCode, description: string) {
    super(`${code}: ${description}`);
    this.code = code;
    this.description = description;
  }
}
