import { serveParent } from '../../process/serve-parent.ts';
import type { ServerCommands, ServerSetup } from '../contenders.ts';
import { createBareReceiver, listenOnLoopback } from './bare-receiver.ts';
import { verifyRequest } from './verify-request.ts';

/** The upper bound: a receiver that verifies and answers, and forgets the event. */
function listen({ secret }: ServerSetup): Promise<{ port: number }> {
  return listenOnLoopback(
    createBareReceiver('/webhooks/messaging', (body, request) => verifyRequest(request, body, secret)),
  );
}

serveParent({ listen, settle: async () => undefined } satisfies ServerCommands);
