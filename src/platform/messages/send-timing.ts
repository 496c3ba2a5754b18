import type { Provider } from '../../contract/service/statuses.ts';
import { ASSUMPTIONS } from '../kernel/assumptions.ts';

export interface SendTiming {
  /** 1 is the service's real latency, 0 none. */
  readonly sendScale: number;
  /** Applies to later sends. */
  setSendScale(scale: number): void;
  /** Restores the scale of the start. */
  reset(): void;
}

export function createSendTiming(initial: number): SendTiming {
  let sendScale = initial;
  return {
    get sendScale() {
      return sendScale;
    },
    setSendScale(scale) {
      sendScale = scale;
    },
    reset() {
      sendScale = initial;
    },
  };
}

/**
 * The latency of a send of this text, in whole ms before scaling. `qr` sends simulate typing: longer texts take
 * longer, up to a limit. `draw` in [0, 1). [service.qr.humanized] [limits.send-humanization]
 */
export function sendLatencyMs(provider: Provider, text: string, draw: number): number {
  const send = ASSUMPTIONS.send.value;
  // [service.cloud-api.latency] [messages.send.latency-cloud-api]
  if (provider === 'cloud_api') return Math.round(send.cloudApiLeastMs + draw * send.cloudApiDrawMs);
  const typing = text.length * send.qrMsPerCharacter;
  // [messages.send.latency-qr] [messages.send.latency-long]
  return Math.round(Math.min(send.qrBaseMs + draw * send.qrDrawMs + typing, send.qrLongestMs));
}
