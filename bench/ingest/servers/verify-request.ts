import type { Request } from 'express';
import { verifySignature } from '../../../src/patterns/verify-signature.ts';
import { systemClock } from '../../../src/runtime/clock/system-clock.ts';

/** Whether the service signed this body just now. */
export function verifyRequest(request: Request, body: Buffer, secret: string): boolean {
  const check = verifySignature({
    timestampHeader: request.headersDistinct['x-service-timestamp'],
    signatureHeader: request.headersDistinct['x-service-signature'],
    body,
    secrets: [secret],
    now: systemClock.now(),
  });
  return check.valid;
}
