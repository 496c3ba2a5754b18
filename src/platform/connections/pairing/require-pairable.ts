import { passed } from '../../kernel/decision-trace.ts';
import { PlatformError } from '../../kernel/platform-error.ts';
import type { Connection } from '../read-connections.ts';

/**
 * Throws `not_supported_for_provider` for a number of the business platform, which never pairs.
 * [connections.pairing-code.qr-only] [errors.not_supported_for_provider]
 */
export function requireQr({ provider }: Pick<Connection, 'provider'>): void {
  if (provider !== 'qr') {
    throw new PlatformError('not_supported_for_provider', {
      why: `a ${provider} connection cannot be paired`,
    });
  }
  passed('provider');
}

/**
 * Throws `already_connected` for a live session. [connections.pairing-code.live] [state.pairing-code.live]
 * [errors.already_connected]
 */
export function requireNotLive({ state }: Pick<Connection, 'state'>): void {
  if (state === 'live') throw new PlatformError('already_connected', { why: 'the session is live' });
  passed('state', `the connection is ${state}`);
}
