import { Skip, Violation } from '../../../certify/src/runner/check.ts';
import { type Exchange, parseJson } from '../../../certify/src/runner/exchange.ts';
import type { ServiceContext } from '../service/context.ts';
import { codeOf, expectRefusal, fieldsOf, isObject, nameAnswer, nameValue } from '../service/judge.ts';
import { UNKNOWN_ID } from '../service/requests.ts';
import { inSection } from '../service/service-check.ts';

/** Each documented code and its status. */
const STATUS_OF: Readonly<Record<string, number>> = {
  invalid_request: 400,
  invalid_phone_number: 400,
  invalid_webhook: 400,
  text_or_media: 400,
  idempotency_key_reuse: 400,
  idempotency_key_invalid: 400,
  invalid_key: 401,
  addon_required: 402,
  license_inactive: 402,
  ip_not_allowed: 403,
  insufficient_scope: 403,
  forbidden_portal_kind: 403,
  invalid_grant: 403,
  already_connected: 409,
  not_supported_for_provider: 409,
  idempotency_in_progress: 409,
  in_progress: 409,
  recipient_not_on_whatsapp: 422,
  warmup_limited: 429,
  rate_limited: 429,
  send_failed: 502,
  pairing_code_unavailable: 502,
};

/** Errors whose bodies the specification leaves open: those that any web server returns. */
const GENERIC = [401, 403, 404, 405, 413, 500, 501, 503];
const isGeneric = ({ status }: Exchange): boolean => GENERIC.includes(status);

/** All exchanges of the run that a rule applies to. @throws Skip if there are none */
function seen(context: ServiceContext, holds: (exchange: Exchange) => boolean): readonly Exchange[] {
  const found = context.journal.exchanges.filter(holds);
  if (found.length === 0) throw new Skip('no response of this run is of that kind');
  return found;
}

const place = ({ method, path }: Exchange): string => `${method} ${path.split('?')[0]}`;

function demandJson(exchanges: readonly Exchange[]): void {
  for (const exchange of exchanges) {
    const type = exchange.headers.get('content-type') ?? 'none';
    if (!/^application\/json\b/i.test(type) || exchange.json === undefined) {
      throw new Violation('application/json', `${place(exchange)}: ${type}`, exchange);
    }
  }
}

function demandErrors(exchanges: readonly Exchange[]): void {
  for (const exchange of exchanges) {
    if (codeOf(exchange) === undefined) {
      throw new Violation('{ error: <code> }', `${place(exchange)}: ${nameValue(exchange.json)}`, exchange);
    }
  }
}

/** Rules that apply to every response; checked over the whole run. Implements `Errors` and `Endpoints`. */
export const wireChecks = inSection({ section: 'Errors' }, [
  {
    id: 'wire.unknown-route',
    rule: 'A path that does not exist returns 404 not_found.',
    level: 'reading',
    async run(context) {
      const exchange = await context.api.request('GET', '/nothing-here');
      expectRefusal(exchange, { status: 404, code: 'not_found' });
    },
  },
  {
    id: 'wire.wrong-method',
    rule: 'A method that a path does not support returns 405 method_not_allowed with Allow.',
    level: 'reading',
    async run(context) {
      for (const [method, path] of [
        ['POST', '/account'],
        ['PUT', '/messages'],
        ['PATCH', `/connections/${UNKNOWN_ID}`],
      ] as const) {
        const exchange = await context.api.request(method, path);
        expectRefusal(exchange, { status: 405, code: 'method_not_allowed' });
        const allow = exchange.headers.get('allow');
        if (allow === null) throw new Violation('a header Allow', 'none', exchange);
      }
    },
  },
  {
    id: 'wire.malformed-json',
    rule: 'A body that is not a JSON object returns 400 invalid_request.',
    level: 'reading',
    async run(context) {
      for (const rawBody of ['{"connectionId":', '[]', '"text"', '7']) {
        const exchange = await context.api.request('POST', '/messages', { rawBody });
        expectRefusal(exchange, { status: 400, code: 'invalid_request' });
      }
    },
  },
  {
    id: 'wire.json',
    section: 'Endpoints',
    rule: 'Every response is JSON and declares it in Content-Type.',
    async run(context) {
      demandJson(seen(context, (exchange) => !isGeneric(exchange)));
    },
  },
  {
    id: 'wire.error-body',
    section: 'Error body',
    rule: 'Every error is an object with a string error.',
    async run(context) {
      demandErrors(seen(context, (exchange) => exchange.status >= 400 && !isGeneric(exchange)));
    },
  },
  {
    id: 'wire.generic-errors',
    rule: 'Errors that any web server returns have the same body: JSON with a string error.',
    level: 'reading',
    async run(context) {
      const generic = seen(context, isGeneric);
      demandJson(generic);
      demandErrors(generic);
    },
  },
  {
    id: 'wire.error-status',
    rule: 'Every code of the table comes with its status.',
    async run(context, probe) {
      const known = seen(context, (exchange) => Object.hasOwn(STATUS_OF, codeOf(exchange) ?? ''));
      for (const exchange of known) {
        const code = codeOf(exchange) ?? '';
        if (exchange.status !== STATUS_OF[code]) {
          throw new Violation(`${STATUS_OF[code]} ${code}`, nameAnswer(exchange), exchange);
        }
      }
      const codes = context.journal.exchanges.flatMap((exchange) => codeOf(exchange) ?? []);
      const further = new Set(codes.filter((code) => !Object.hasOwn(STATUS_OF, code)));
      if (further.size > 0) probe.note(`further codes: ${[...further].join(', ')}`);
    },
  },
  {
    id: 'wire.error-field',
    section: 'Error body',
    rule: 'invalid_request names the invalid key in field; hint, if present, is a string.',
    async run(context) {
      // A body that is not an object has no key that could be named.
      const hasKeys = ({ requestBody }: Exchange): boolean =>
        requestBody === undefined || isObject(parseJson(requestBody));
      for (const exchange of seen(context, (one) => codeOf(one) === 'invalid_request' && hasKeys(one))) {
        const { field, hint } = fieldsOf(exchange);
        if (typeof field !== 'string' || field === '') {
          throw new Violation('a string field', `${place(exchange)}: ${nameValue(field)}`, exchange);
        }
        if (hint !== undefined && typeof hint !== 'string') {
          throw new Violation('a string hint', nameValue(hint), exchange);
        }
      }
    },
  },
  {
    id: 'wire.no-server-error',
    rule: 'No request of the suite returned a 500.',
    level: 'should',
    async run(context) {
      const failed = context.journal.exchanges.find(({ status }) => status === 500 || status === 501);
      if (failed !== undefined) throw new Violation('no 500', place(failed), failed);
    },
  },
  {
    id: 'wire.no-credential',
    section: 'Authentication',
    rule: 'No response repeats the key of the request.',
    level: 'should',
    async run(context) {
      const { apiKey, secondApiKey, narrowApiKey, barredApiKey, portalApiKey } = context.inputs;
      const given = [apiKey, secondApiKey, narrowApiKey, barredApiKey, portalApiKey];
      const keys = given.filter((key) => key !== undefined);
      for (const exchange of context.journal.exchanges) {
        if (keys.some((key) => exchange.text.includes(key))) {
          throw new Violation('a response without it', place(exchange), exchange);
        }
      }
    },
  },
]);
