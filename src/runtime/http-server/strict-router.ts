import { Router } from 'express';

/**
 * A router that takes a path only as it is written: `/V1` and `/v1/` are other addresses than `/v1`. Whoever guards
 * addresses from outside, a proxy for example, compares them in the same way.
 */
export function strictRouter(): Router {
  return Router({ caseSensitive: true, strict: true });
}
