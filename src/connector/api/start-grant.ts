import { toIso } from '../../runtime/clock/iso-time.ts';
import type { Database } from '../../runtime/database/database.ts';
import { readAccount } from '../accounts/account-store.ts';
import type { Consents } from '../oauth/consents.ts';
import { ApiError, invalid, notFound } from './api-error.ts';
import type { Operation } from './operations.ts';
import { describeServiceFailure } from './service-failure.ts';

export interface StartGrantOptions {
  readonly database: Database;
  /** Null if OAuth is not configured. */
  readonly consents: Consents | null;
}

/** `POST /v1/accounts/oauth`: returns an address of the connector for the customer's browser. */
export function startGrant({ database, consents }: StartGrantOptions): Operation<'startGrant'> {
  return async ({ body = {} }) => {
    if (consents === null) {
      throw new ApiError(
        'oauth_not_configured',
        'Set SERVICE_AUTH_URL, SERVICE_CLIENT_ID, SERVICE_CLIENT_SECRET and CONNECTOR_PUBLIC_URL to use OAuth.',
      );
    }
    const { accountId = null, returnUrl } = body;
    if (returnUrl !== undefined && !consents.mayReturnTo(returnUrl)) {
      throw invalid(
        'returnUrl',
        'must be https, at a host listed in CONNECTOR_RETURN_HOSTS or at the host of CONNECTOR_PUBLIC_URL',
      );
    }
    const account = accountId === null ? null : await readAccount(database, accountId);
    if (accountId !== null && account?.kind !== 'oauth') throw notFound('OAuth account');
    const { authorizationUrl, expiresAt } = await consents
      .begin({ ...body, label: body.label ?? account?.label ?? undefined })
      .catch((error: unknown) => {
        throw describeServiceFailure(error);
      });
    return { authorizationUrl, expiresAt: toIso(expiresAt), accountId };
  };
}
