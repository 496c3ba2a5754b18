import { ServiceError } from '../service-client/service-errors.ts';

/** No message or field of these errors contains a token, a code or free text of a server. */
const NAME = /^[a-z_]{1,40}$/;

/** The authorization server refused, with a code of RFC 6749. Nothing was issued. */
export class OauthRefusal extends ServiceError {
  override readonly name = 'OauthRefusal';
  readonly code: string;
  readonly mayHaveActed = false;
  /** The code of the server; `unnamed` if it sent none. */
  readonly error: string;

  constructor(error: string) {
    const named = NAME.test(error) ? error : 'unnamed';
    super(`the authorization server answered with ${named}`);
    this.error = named;
    this.code = `oauth_${named}`;
  }
}

const FAILURES = {
  absent: 'there is no authorization server at this address',
  connect: 'the connection to the authorization server could not be established',
  network: 'the connection to the authorization server failed',
  deadline: 'the authorization server did not answer in time',
  unreadable: 'the answer of the authorization server is invalid',
} as const;

/** No usable answer. Unless the reason is `absent` or `connect`, the server may have executed the call. */
export class OauthUnreachable extends ServiceError {
  override readonly name = 'OauthUnreachable';
  readonly code: `oauth_${keyof typeof FAILURES}`;
  readonly mayHaveActed: boolean;

  constructor(failure: keyof typeof FAILURES, cause?: unknown) {
    super(FAILURES[failure], cause === undefined ? undefined : { cause });
    this.code = `oauth_${failure}`;
    this.mayHaveActed = failure !== 'absent' && failure !== 'connect';
  }
}

/** A refresh is not possible now: one failed a moment ago, or another process has been refreshing for too long. */
export class RefreshDelayed extends ServiceError {
  override readonly name = 'RefreshDelayed';
  readonly code: string;
  readonly mayHaveActed = false;

  constructor(code: string) {
    super(`the access token cannot be refreshed now: ${code}`);
    this.code = code;
  }
}

/** The grant has ended. Only a new consent of the customer can renew it. */
export class ReauthRequired extends ServiceError {
  override readonly name = 'ReauthRequired';
  readonly code = 'reauth_required';
  readonly mayHaveActed = false;

  constructor() {
    super('the grant has ended, and the customer must consent again');
  }
}
