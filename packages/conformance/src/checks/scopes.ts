import { Skip, Violation } from '../../../certify/src/runner/check.ts';
import { narrowKey, type ServiceContext } from '../service/context.ts';
import { codeOf, expectRefusal, nameAnswer } from '../service/judge.ts';
import { HARMLESS, type HarmlessRequest, SCOPES, UNKNOWN_ID } from '../service/requests.ts';
import { inSection, type ServiceCheck } from '../service/service-check.ts';

function isAllowed(context: ServiceContext, scope: string): boolean {
  return context.inputs.narrowScopes?.includes(scope) ?? false;
}

/** Rotation is only harmless if it is rejected, so it requires consent. */
function isSafe(context: ServiceContext, { onlyIfRefused }: HarmlessRequest): boolean {
  return onlyIfRefused !== true || context.inputs.profile === 'full';
}

const askNarrow = (context: ServiceContext, request: HarmlessRequest) =>
  narrowKey(context).request(request.method, request.path, request);

function lacking(scope: string): ServiceCheck {
  return {
    id: `scope.${scope.split('.')[1]}.needed`,
    section: 'Scopes',
    rule: `A key without ${scope} gets 403 insufficient_scope from every endpoint that requires it.`,
    level: 'must',
    needs: ['narrow-key'],
    async run(context) {
      if (isAllowed(context, scope))
        throw new Skip(`needs a key without ${scope}`, `a --narrow-api-key without ${scope}`);
      const guarded = HARMLESS.filter((request) => request.scope === scope && isSafe(context, request));
      for (const request of guarded) {
        expectRefusal(await askNarrow(context, request), { status: 403, code: 'insufficient_scope' });
      }
    },
  };
}

/** What a key is allowed to do. Implements `Scopes`. */
export const scopeChecks = inSection({ section: 'Scopes' }, [
  ...SCOPES.map(lacking),
  {
    id: 'scope.granted',
    rule: 'A key with the scope of an endpoint never gets insufficient_scope from it.',
    needs: ['narrow-key'],
    async run(context) {
      // Requests that a faulty service would carry out on the account are left to the checks of their
      // endpoints.
      const open = HARMLESS.filter(
        ({ method, path, scope }) =>
          isAllowed(context, scope) &&
          (method === 'GET' || path.includes(UNKNOWN_ID) || /messages/.test(path)),
      );
      for (const request of open) {
        const exchange = await askNarrow(context, request);
        if (codeOf(exchange) === 'insufficient_scope') {
          throw new Violation(`no error for ${request.scope}`, nameAnswer(exchange), exchange);
        }
      }
    },
  },
  {
    id: 'scope.challenge',
    section: 'API keys',
    rule: 'A 403 for a missing scope carries WWW-Authenticate: Bearer error="insufficient_scope".',
    level: 'should',
    needs: ['narrow-key'],
    async run(context) {
      const request = HARMLESS.find(
        (harmless) => !isAllowed(context, harmless.scope) && isSafe(context, harmless),
      );
      if (request === undefined)
        throw new Skip('the narrow key has every scope', 'a --narrow-api-key that lacks a scope');
      const exchange = await askNarrow(context, request);
      const challenge = exchange.headers.get('www-authenticate') ?? 'no such header';
      if (!/^Bearer\b.*error="?insufficient_scope\b/i.test(challenge)) {
        throw new Violation('WWW-Authenticate: Bearer error="insufficient_scope"', challenge, exchange);
      }
    },
  },
]);
