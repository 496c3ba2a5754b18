import type { Provider } from '../../contract/service/statuses.ts';
import { ASSUMPTIONS } from '../kernel/assumptions.ts';

/**
 * How long a send of this text takes, in whole ms before scaling. A `qr` send is typed by hand, as it were: longer
 * texts take longer, up to a bound. `draw` in [0, 1). Implements `What the service does`, 2.
 */
export function sendLatencyMs(provider: Provider, text: string, draw: number): number {
  const send = ASSUMPTIONS.send.value;
  if (provider === 'cloud_api') return Math.round(send.cloudApiLeastMs + draw * send.cloudApiDrawMs);
  const typing = text.length * send.qrMsPerCharacter;
  return Math.round(Math.min(send.qrBaseMs + draw * send.qrDrawMs + typing, send.qrLongestMs));
}
