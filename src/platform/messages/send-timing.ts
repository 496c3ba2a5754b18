import { PlatformError } from '../kernel/platform-error.ts';

/** The pace of sends. */
export interface SendTiming {
  /** 1 is the service's real latency, 0 none. */
  readonly sendScale: number;
  /** Holds for sends from now on. Throws `invalid_request` for a negative or infinite scale. */
  setSendScale(scale: number): void;
  /** Back to the scale of the start. */
  reset(): void;
}

export function createSendTiming(initial: number): SendTiming {
  let sendScale = initial;
  return {
    get sendScale() {
      return sendScale;
    },
    setSendScale(scale) {
      if (!Number.isFinite(scale) || scale < 0)
        throw new PlatformError('invalid_request', { field: 'sendScale' });
      sendScale = scale;
    },
    reset() {
      sendScale = initial;
    },
  };
}
