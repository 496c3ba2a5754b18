import { Router } from 'express';

/**
 * A router that matches paths exactly: `/V1` and `/v1/` are different paths from `/v1`. A proxy that
 * restricts paths compares them in the same way.
 */
export function strictRouter(): Router {
  return Router({ caseSensitive: true, strict: true });
}
