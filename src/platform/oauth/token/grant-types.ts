import { passed } from '../../kernel/decision-trace.ts';
import type { App } from '../apps.ts';
import { OauthError } from '../oauth-error.ts';
import { type Parameters, requireParameter } from '../parameters.ts';
import { exchangeCode } from './exchange-code.ts';
import type { TokenAnswer } from './issue-tokens.ts';
import { refreshGrant } from './refresh-grant.ts';
import type { TokenContext } from './token-context.ts';

type GrantType = (context: TokenContext, app: App, parameters: Parameters) => Promise<TokenAnswer>;

const GRANT_TYPES: ReadonlyMap<string, GrantType> = new Map([
  ['authorization_code', exchangeCode],
  ['refresh_token', refreshGrant],
]);

/** What turns a grant of this type into tokens. Throws `invalid_request` or `unsupported_grant_type`. */
export function findGrantType(parameters: Parameters): GrantType {
  const type = GRANT_TYPES.get(requireParameter(parameters, 'grant_type'));
  if (type === undefined) {
    throw new OauthError('unsupported_grant_type', 'grant_type must be authorization_code or refresh_token');
  }
  passed('grant_type');
  return type;
}
