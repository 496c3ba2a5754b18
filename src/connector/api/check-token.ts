import type { NextFunction, Request, Response } from 'express';
import { equalSecrets } from '../../runtime/sealing/equal-secrets.ts';

const BEARER = /^Bearer +([^\s]+) *$/i;

/** Lets only the bearer of the token pass; compared in constant time. */
export function checkToken(token: string) {
  return (request: Request, response: Response, next: NextFunction): void => {
    response.setHeader('Cache-Control', 'no-store');
    const given = BEARER.exec(request.get('authorization') ?? '')?.[1];
    if (given !== undefined && equalSecrets(given, token)) {
      next();
      return;
    }
    response.setHeader('WWW-Authenticate', 'Bearer');
    response.status(401).json({
      error: 'unauthorized',
      message: 'Authorization: needs the bearer token of this connector.',
    });
  };
}
