import type { Request, Router } from 'express';
import { routeMethods } from '../../runtime/http-server/route-methods.ts';
import { strictRouter } from '../../runtime/http-server/strict-router.ts';
import type { Answer } from '../calls/answer.ts';
import type { CallShell } from '../calls/call-shell.ts';
import { answerOfFailure, refusalAnswer } from './oauth-answer.ts';
import { OauthError } from './oauth-error.ts';

/** Answers one request. Whatever it throws is passed to `answerOfFailure`. */
export type OauthHandler = (request: Request) => Promise<Answer>;

/** Handlers by path below the issuer, then by method. */
export type OauthRoutes = Readonly<Record<string, Readonly<Record<string, OauthHandler>>>>;

interface Options {
  readonly shell: CallShell;
  readonly routes: OauthRoutes;
}

/** Routes requests below the issuer; other paths are passed on. */
export function createOauthRouter({ shell, routes }: Options): Router {
  const router = strictRouter();
  const serve = (answer: OauthHandler) =>
    shell.handle('oauth', {
      answer: ({ request }) => answer(request),
      refuse: answerOfFailure,
    });
  const wrongMethod = new OauthError('invalid_request', 'the address does not accept this method', 'method');
  const refuse = serve(async () => ({ ...refusalAnswer(wrongMethod), status: 405 }));
  for (const [path, methods] of Object.entries(routes)) {
    const handlers = Object.entries(methods).map(([method, answer]) => [method, serve(answer)] as const);
    routeMethods(router, path, Object.fromEntries(handlers), { refuse });
  }
  return router;
}
