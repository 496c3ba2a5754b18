import type { ErrorRequestHandler, Request, Router } from 'express';
import { routeMethods } from '../../runtime/http-server/route-methods.ts';
import { strictRouter } from '../../runtime/http-server/strict-router.ts';
import { answerOf } from '../calls/answer.ts';
import type { CallShell } from '../calls/call-shell.ts';
import type { CredentialSources } from '../credentials/find-granted.ts';
import { resolveCredential } from '../credentials/resolve-credential.ts';
import { PlatformError } from '../kernel/platform-error.ts';
import type { Endpoint } from './endpoint.ts';
import { passGate } from './gate.ts';

interface Options {
  readonly shell: CallShell;
  readonly sources: CredentialSources;
  readonly endpoints: readonly Endpoint[];
}

/** Routes every call under the base URL to its endpoint. */
export function createRestRouter({ shell, sources, endpoints }: Options): Router {
  const router = strictRouter();
  const recognize = (request: Request): Promise<unknown> =>
    resolveCredential(sources, request.headersDistinct['authorization']);
  const refuseWith = (refusal: PlatformError) =>
    shell.handle('api', { answer: () => Promise.reject(refusal), refuse: answerOf, recognize });

  for (const [path, served] of Map.groupBy(endpoints, ({ row }) => row.path)) {
    const methods = served.map((endpoint) => {
      const handle = shell.handle('api', {
        answer: ({ request }) => passGate(sources, { request, endpoint }),
        refuse: (error) => answerOf(error, endpoint.row.scope),
        recognize,
      });
      return [endpoint.row.method, handle] as const;
    });
    const why = `the address accepts ${methods.map(([method]) => method).join(', ')}`;
    routeMethods(router, path.replaceAll(/\{(\w+)\}/g, ':$1'), Object.fromEntries(methods), {
      // [choice.wrong-method]
      refuse: refuseWith(new PlatformError('method_not_allowed', { why })),
    });
  }

  // [choice.unknown-route]
  const refuseUnknown = refuseWith(
    new PlatformError('not_found', { check: 'route', why: 'no such address' }),
  );
  // A parameter with invalid percent-encoding is also an unknown address.
  const refuseMalformed: ErrorRequestHandler = (error, request, response, next) =>
    error instanceof URIError ? refuseUnknown(request, response, next) : next(error);
  return router.use(refuseUnknown, refuseMalformed);
}
