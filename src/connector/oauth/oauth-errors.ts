import { ServiceError } from '../service-client/service-errors.ts';

/** No message and no field of these errors holds a token, a code or what a server wrote freely. */
const NAME = /^[a-z_]{1,40}$/;

/** The authorization server said no, with a code of RFC 6749. Nothing was issued. */
export class OauthRefusal extends ServiceError {
  override readonly name = 'OauthRefusal';
  readonly code: string;
  readonly mayHaveActed = false;
  /** The code of the server; `unnamed` when it is no code. */
  readonly error: string;

  constructor(error: string) {
    const named = NAME.test(error) ? error : 'unnamed';
    super(`the authorization server answered ${named}`);
    this.error = named;
    this.code = `oauth_${named}`;
  }
}

const FAILURES = {
  absent: 'there is no authorization server at this address',
  connect: 'no connection to the authorization server could be made',
  network: 'the connection to the authorization server failed',
  deadline: 'the authorization server did not answer in time',
  unreadable: 'the answer of the authorization server does not fit',
} as const;

/** No answer that can be used. After anything but `absent` and `connect` the server may have done what it was asked. */
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

/** A refresh is not to be had now: one failed a moment ago, or another process is at it for too long. */
export class RefreshHeldUp extends ServiceError {
  override readonly name = 'RefreshHeldUp';
  readonly code: string;
  readonly mayHaveActed = false;

  constructor(code: string) {
    super(`the access token cannot be refreshed now: ${code}`);
    this.code = code;
  }
}

/** The grant has ended. Only the customer can mend it, by consenting again. */
export class ReauthRequired extends ServiceError {
  override readonly name = 'ReauthRequired';
  readonly code = 'reauth_required';
  readonly mayHaveActed = false;

  constructor() {
    super('the grant has ended, and the customer must consent again');
  }
}
