import type { Response, Router } from 'express';
import { routeMethods } from '../../runtime/http-server/route-methods.ts';
import { strictRouter } from '../../runtime/http-server/strict-router.ts';
import { answerOf } from '../calls/answer.ts';
import type { CallShell } from '../calls/call-shell.ts';
import type { CredentialSources } from '../credentials/find-granted.ts';
import { resolveToolCredential } from '../credentials/resolve-credential.ts';
import type { BaseUrls } from '../kernel/base-urls.ts';
import { PlatformError } from '../kernel/platform-error.ts';
import { documentAnswer } from '../oauth/oauth-answer.ts';
import { admitRequest } from './admit-request.ts';
import { isWelcomeOrigin } from './browser-rules.ts';
import type { ProtocolHandler } from './protocol-handler.ts';
import { describeResource, RESOURCE_METADATA_PATHS, TOOLS_PATH } from './resource-metadata.ts';
import { refuseOrigin, refuseRequest } from './tool-refusals.ts';

/** Answers what is asked at the address of the tools, and for what it says of itself. */
export interface ToolServer {
  /** Other addresses go on. */
  readonly router: Router;
  /** Answers those who wait for a send, which goes on, and ends standing streams. Called before the service stops. */
  endWaits(): void;
  close(): Promise<void>;
}

interface Options extends CredentialSources {
  readonly shell: CallShell;
  readonly baseUrls: () => BaseUrls;
  readonly protocol: ProtocolHandler;
  /** Aborted by `endWaits`: the tools listen to it. */
  readonly stopping: AbortController;
}

/** Makes the tool server: its guard, the protocol behind it, and the metadata in front. */
export function createToolServer(options: Options): ToolServer {
  const { shell, baseUrls, protocol, stopping } = options;
  const standing = new Set<Response>();
  const router = strictRouter();

  const callTools = shell.handle('oauth', {
    async answer(call) {
      const { request, response } = call;
      if (!isWelcomeOrigin(request.get('Origin'))) return refuseOrigin();
      const admitted = await admitRequest(options, request);
      const standsOpen = (): void => {
        standing.add(response);
        call.standsOpen();
      };
      await protocol.serve({ ...call, standsOpen }, admitted).finally(() => standing.delete(response));
      return null;
    },
    refuse: (error) => refuseRequest(error, baseUrls()),
    recognize: (request) => resolveToolCredential(options, request.headersDistinct['authorization']),
  });
  // Its method is a check like any other: whoever has no good token is not told which one it takes.
  router.all(TOOLS_PATH, callTools);

  const describe = shell.handle('oauth', {
    answer: async () => documentAnswer(describeResource(baseUrls())),
    refuse: answerOf,
  });
  const refuse = shell.handle('oauth', {
    answer: () => Promise.reject(new PlatformError('method_not_allowed')),
    refuse: answerOf,
  });
  for (const path of RESOURCE_METADATA_PATHS) routeMethods(router, path, { GET: describe }, { refuse });

  return {
    router,
    endWaits() {
      stopping.abort();
      for (const response of standing) response.end();
    },
    close: () => protocol.close(),
  };
}
