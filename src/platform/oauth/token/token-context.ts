import type { Queryable } from '../../../runtime/database/database.ts';
import type { ChangeState } from '../../time/state-change.ts';
import type { AccessTokens } from '../access-tokens.ts';

/** Dependencies of the token and revocation endpoints. */
export interface TokenContext {
  readonly database: Queryable;
  readonly changeState: ChangeState;
  readonly tokens: AccessTokens;
  /** Identifiers of all resources. */
  resources(): readonly string[];
  /** Virtual time, epoch ms. */
  now(): number;
}
