import { Skip, Violation } from '../../../certify/src/runner/check.ts';
import type { Exchange } from '../../../certify/src/runner/exchange.ts';
import { readRetryAfter } from '../../../certify/src/runner/http-client.ts';
import { connectionOf, liveConnection } from '../fixtures/connections.ts';
import {
  idOf,
  LABEL,
  ownConnection,
  readDetail,
  requestConnection,
  spareConnection,
} from '../fixtures/own-connections.ts';
import type { ServiceContext } from '../service/context.ts';
import { codeOf, expectEqual, expectRefusal, expectStatus, fieldsOf, nameAnswer } from '../service/judge.ts';
import { readPng } from '../service/png.ts';
import { NO_PHONE, UNKNOWN_ID } from '../service/requests.ts';
import { inSection } from '../service/service-check.ts';
import { demandShape } from '../service/shape.ts';
import { DETAIL_ALIASES, pairingCode, pairingDetail } from '../service/spec-shapes.ts';

const SECTION = 'Rules per endpoint, 7';
const CODES_PER_WINDOW = 5;
const MAX_REQUESTS = 12;

function askCode(context: ServiceContext, id: string, phoneNumber: unknown): Promise<Exchange> {
  const request = { body: { phoneNumber }, takeRateLimit: true };
  return context.api.request('POST', `/connections/${id}/pairing-code`, request);
}

/** Numbers that a lenient service would clean up, but must not. */
function uncleanNumbers(digits: string): readonly unknown[] {
  const [head, tail] = [digits.slice(0, 2), digits.slice(2)];
  return [
    `+${digits}`,
    ` ${digits}`,
    `${digits} `,
    `${head} ${tail}`,
    `${head}-${tail}`,
    `(${head})${tail}`,
    `${digits}x`,
    '',
    'someone',
    // Digits, but not those used for dialing.
    [...digits].map((digit) => String.fromCodePoint(0xff10 + Number(digit))).join(''),
    null,
    undefined,
    Number(digits),
  ];
}

/** Asks for codes on one connection, and on another one once a cap has counted these requests as well. */
async function demandInvalid(
  context: ServiceContext,
  digits: string,
  connection: (before: number) => string | Promise<string>,
): Promise<void> {
  let connections = 0;
  let id = await connection(connections);
  for (const phoneNumber of uncleanNumbers(digits)) {
    let exchange = await askCode(context, id, phoneNumber);
    if (exchange.status === 429) {
      connections += 1;
      id = await connection(connections);
      exchange = await askCode(context, id, phoneNumber);
    }
    if (exchange.status === 429) throw new Skip(`the service returned ${nameAnswer(exchange)}`);
    if (exchange.status === 404)
      throw new Skip('the service looks for the connection before it validates the body');
    expectRefusal(exchange, { status: 400, code: 'invalid_phone_number' });
  }
}

/** Requests codes until the cap is reached or the timeout passes; done once, on a separate connection. */
function askManyCodes(context: ServiceContext): Promise<readonly Exchange[]> {
  return context.once('pairing codes up to the cap', async () => {
    const id = await spareConnection(context);
    const exchanges: Exchange[] = [];
    do exchanges.push(await askCode(context, id, context.inputs.pairingPhone));
    while (exchanges.at(-1)?.status !== 429 && exchanges.length < MAX_REQUESTS);
    return exchanges;
  });
}

const codeIn = (exchange: Exchange): unknown => fieldsOf(exchange)['code'];

/** The responses with a code. @throws Skip if the engine declined all, which is an ordinary outcome */
async function someCodes(context: ServiceContext): Promise<readonly Exchange[]> {
  const exchanges = await askManyCodes(context);
  const given = exchanges.filter((exchange) => codeOf(exchange) !== 'pairing_code_unavailable');
  const codes = given.filter(({ status }) => status !== 429);
  if (codes.length === 0) throw new Skip('the engine declined every code');
  return codes;
}

const PAIRING = ['full', 'pairing-phone'] as const;

/** QR codes and pairing codes. Implements `Rules per endpoint`, 3 and 7. */
export const pairingChecks = inSection({ section: SECTION, needs: PAIRING }, [
  {
    id: 'picture.detail-shape',
    section: 'Connection detail',
    rule: 'The detail of a connection that waits for its phone has a qr and the fields of the table.',
    needs: ['full'],
    async run(context, probe) {
      const exchange = await readDetail(context, await ownConnection(context));
      expectStatus(exchange, 200);
      demandShape(exchange, pairingDetail, probe);
      const connection = connectionOf(exchange);
      expectEqual('status', 'connecting', connection['status'], exchange);
      expectEqual('provider', 'qr', connection['provider'], exchange);
      for (const [name, alias] of DETAIL_ALIASES) {
        expectEqual(alias, connection[name], connection[alias], exchange);
      }
    },
  },
  {
    id: 'picture.png',
    section: 'Rules per endpoint, 3',
    rule: 'The qr of the detail is a complete PNG.',
    needs: ['full'],
    async run(context) {
      const exchange = await readDetail(context, await ownConnection(context));
      const png = readPng(connectionOf(exchange)['qr']);
      if (typeof png === 'string') throw new Violation('a PNG that can contain a QR code', png, exchange);
    },
  },
  {
    id: 'picture.new-each-time',
    section: 'Rules per endpoint, 3',
    rule: 'Every read of the detail returns a new qr.',
    needs: ['full'],
    async run(context) {
      const id = await ownConnection(context);
      const seen = new Set<unknown>();
      for (let reads = 1; reads <= 3; reads++) {
        const exchange = await readDetail(context, id);
        seen.add(connectionOf(exchange)['qr']);
        if (seen.size !== reads)
          throw new Violation('a different qr', 'one that was returned before', exchange);
      }
    },
  },
  {
    id: 'pairing.phone.unknown-connection',
    rule: 'A phoneNumber that is not only digits returns 400 invalid_phone_number.',
    needs: [],
    run: (context) => demandInvalid(context, NO_PHONE, (before) => `${UNKNOWN_ID.slice(0, -1)}${before}`),
  },
  {
    id: 'pairing.phone.invalid',
    rule: 'Even on a connection that could pair, a phoneNumber is never cleaned up.',
    run: (context) =>
      demandInvalid(context, context.inputs.pairingPhone ?? NO_PHONE, async (before) =>
        before === 0
          ? ownConnection(context)
          : idOf(await requestConnection(context, context.api, { body: { label: LABEL } })),
      ),
  },
  {
    id: 'pairing.code.shape',
    section: 'Other shapes',
    rule: 'A code has 8 characters in two groups with a hyphen.',
    async run(context, probe) {
      for (const exchange of await someCodes(context)) {
        expectStatus(exchange, 200);
        demandShape(exchange, pairingCode, probe);
      }
    },
  },
  {
    id: 'pairing.code.new-each-time',
    rule: 'Each call returns a new code.',
    async run(context) {
      const codes = (await someCodes(context)).map(codeIn);
      if (codes.length < 2) throw new Skip('the engine returned only one code');
      expectEqual('different codes', codes.length, new Set(codes).size);
    },
  },
  {
    id: 'pairing.cap',
    rule: 'After 5 codes in 15 minutes a connection gets 429 rate_limited.',
    async run(context) {
      const codes = await someCodes(context);
      const exchanges = await askManyCodes(context);
      const last = exchanges.at(-1);
      if (last === undefined || last.status !== 429) {
        throw new Violation('429 rate_limited', `${codes.length} codes and no limit`, last);
      }
      expectRefusal(last, { status: 429, code: 'rate_limited' });
      const declined = exchanges.length - codes.length - 1;
      const fits = codes.length <= CODES_PER_WINDOW && codes.length + declined >= CODES_PER_WINDOW;
      if (!fits) throw new Violation(`${CODES_PER_WINDOW} codes before it`, `${codes.length}`, last);
    },
  },
  {
    id: 'pairing.cap.retry-after',
    rule: 'The 429 of the cap has Retry-After, at most 15 minutes ahead.',
    async run(context) {
      const last = (await askManyCodes(context)).at(-1);
      if (last?.status !== 429) throw new Skip('the cap was not reached');
      const ms = readRetryAfter(last.headers, context.clock.now());
      if (ms === null || ms < 1 || ms > 900_000) {
        const found = last.headers.get('retry-after') ?? 'no such header';
        throw new Violation('Retry-After from 1 to 900, or a date as far ahead', found, last);
      }
    },
  },
  {
    id: 'pairing.state',
    section: 'Connection status',
    rule: 'Requesting codes does not change the status.',
    async run(context) {
      await askManyCodes(context);
      const exchange = await readDetail(context, await spareConnection(context));
      expectEqual('status', 'connecting', connectionOf(exchange)['status'], exchange);
    },
  },
  {
    id: 'pairing.live',
    rule: 'A live session returns 409 already_connected.',
    async run(context) {
      const { id } = await liveConnection(context, 'qr');
      const exchange = await askCode(context, id, context.inputs.pairingPhone);
      if (exchange.status === 429) throw new Skip(`the service returned ${nameAnswer(exchange)}`);
      expectRefusal(exchange, { status: 409, code: 'already_connected' });
    },
  },
  {
    id: 'pairing.cloud-api',
    rule: 'A cloud_api connection returns 409 not_supported_for_provider.',
    needs: [],
    async run(context) {
      const { id } = await liveConnection(context, 'cloud_api');
      const exchange = await askCode(context, id, NO_PHONE);
      expectRefusal(exchange, { status: 409, code: 'not_supported_for_provider' });
    },
  },
]);
