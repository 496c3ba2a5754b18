import { randomUUID } from 'node:crypto';
import type { ServiceInputs } from '../src/service/inputs.ts';
import { type Breakage, json, type PassingAnswer, type PassingRequest, setting } from './broken-proxy.ts';

/** A broken rule, and the check that must report it. */
export interface BrokenRule {
  readonly what: string;
  readonly found: string;
  readonly breakage: (inputs: ServiceInputs) => Breakage;
}

const is = (request: PassingRequest, method: string, path: RegExp): boolean =>
  request.method === method && path.test(request.path);

const LIST = /^\/connections$/;
const DETAIL = /^\/connections\/[^/]+$/;
const PAGE = /^\/messages(\?|$)/;
const SENDS = /^\/messages$/;
const WEBHOOK = /^\/webhook$/;
const CODE = /\/pairing-code$/;

const inBody =
  (fields: object) =>
  ({ body }: PassingAnswer): void =>
    void Object.assign(body, fields);

/** Breaks the answers to one endpoint. */
function answering(
  method: string,
  path: RegExp,
  change: (answer: PassingAnswer, request: PassingRequest) => void,
) {
  return (): Breakage => ({
    answer(answer, request) {
      if (is(request, method, path)) change(answer, request);
    },
  });
}

/** Breaks successful answers. */
function succeeding(method: string, path: RegExp, change: (answer: PassingAnswer) => void) {
  return answering(method, path, (answer) => void (answer.status < 300 && change(answer)));
}

/** Breaks requests to one endpoint. */
function asking(method: string, path: RegExp, change: (request: PassingRequest) => void) {
  return (): Breakage => ({
    ask(request) {
      if (is(request, method, path)) change(request);
      return undefined;
    },
  });
}

/** Answers requests to one endpoint in place of the service; undefined leaves it to the service. */
function replacing(
  method: string,
  path: RegExp,
  replace: (request: PassingRequest) => PassingAnswer | undefined,
) {
  return (): Breakage => ({
    ask: (request) => (is(request, method, path) ? replace(request) : undefined),
  });
}

function refusing(code: string, change: (answer: PassingAnswer, request: PassingRequest) => void) {
  return (): Breakage => ({
    answer: (answer, request) => void (answer.body?.error === code && change(answer, request)),
  });
}

const withoutPicture = succeeding('GET', DETAIL, ({ body }) => {
  body.connection.qr = null;
});

/** Repeats the first value of a field forever. */
function freezing(method: string, path: RegExp, field: string) {
  return (): Breakage => {
    let first: unknown;
    return {
      answer(answer, request) {
        const holder = answer.body?.connection ?? answer.body;
        if (!is(request, method, path) || answer.status >= 300 || holder?.[field] === undefined) return;
        first ??= holder[field];
        holder[field] = first;
      },
    };
  };
}

const TINY = 'data:image/png;base64,iVBORw0KGgo=';

export const BROKEN_RULES: readonly BrokenRule[] = [
  {
    what: 'a 403 instead of a 401 for an unknown key',
    found: 'auth.unknown-key.refused',
    breakage: refusing('invalid_key', setting({ status: 403 })),
  },
  {
    what: 'no challenge for an unknown key',
    found: 'auth.challenge',
    breakage: refusing('invalid_key', ({ headers }, request) => {
      if (request.headers['authorization'] !== undefined) delete headers['www-authenticate'];
    }),
  },
  {
    what: 'a challenge of another scheme without a credential',
    found: 'auth.challenge',
    breakage: refusing('invalid_key', ({ headers }, request) => {
      if (request.headers['authorization'] === undefined) headers['www-authenticate'] = 'Basic realm="x"';
    }),
  },
  {
    what: 'an endpoint that asks for no credential',
    found: 'auth.none.refused',
    breakage: replacing('GET', /^\/account$/, ({ headers }) =>
      headers['authorization'] === undefined ? json(200, {}) : undefined,
    ),
  },
  {
    what: 'a scope that is not checked',
    found: 'scope.send.needed',
    breakage: refusing('insufficient_scope', (answer) => {
      answer.status = 404;
      answer.body = { error: 'not_found' };
    }),
  },
  {
    what: 'an alias left out',
    found: 'connections.list.shape',
    breakage: succeeding('GET', LIST, ({ body }) => void delete body.connections[0].phone),
  },
  {
    what: 'an alias with another value',
    found: 'connections.list.aliases',
    breakage: succeeding('GET', LIST, ({ body }) => {
      body.connections[0].name = 'Other';
    }),
  },
  {
    what: 'a date as a number',
    found: 'connections.list.shape',
    breakage: succeeding('GET', LIST, ({ body }) => {
      body.connections[0].licenseExpires = 1;
    }),
  },
  {
    what: 'a connection without a license in the list',
    found: 'connections.list.licensed',
    breakage: succeeding('GET', LIST, ({ body }) => {
      body.connections[0].licenseValid = false;
    }),
  },
  {
    what: 'an alias of the detail left out',
    found: 'connections.detail.shape',
    breakage: succeeding('GET', DETAIL, ({ body }) => void delete body.connection.license_status),
  },
  {
    what: 'an alias of the detail with another value',
    found: 'connections.detail.aliases',
    breakage: succeeding('GET', DETAIL, ({ body }) => {
      body.connection.license_expires = null;
    }),
  },
  {
    what: 'counts as strings',
    found: 'account.shape',
    breakage: succeeding('GET', /^\/account$/, ({ body }) => void Object.assign(body.slots, { total: '9' })),
  },
  {
    what: 'live connections that are not counted as connected',
    found: 'account.connections',
    breakage: succeeding('GET', /^\/account$/, ({ body }) => {
      body.connections.connected = 0;
    }),
  },
  {
    what: 'a message skipped between two pages',
    found: 'messages.walk',
    breakage: answering('GET', /[?&]cursor=/, ({ body }) => void body.messages?.shift()),
  },
  {
    what: 'a message that is listed twice',
    found: 'messages.walk',
    breakage: () => {
      const last: unknown[] = [];
      return {
        answer({ body }, { path }) {
          if (!PAGE.test(path) || !Array.isArray(body?.messages) || /limit=100/.test(path)) return;
          if (path.includes('cursor=') && last.length > 0) body.messages.unshift(last[0]);
          last.splice(0, 1, body.messages.at(-1));
        },
      };
    },
  },
  {
    what: 'the oldest message first',
    found: 'messages.order',
    breakage: succeeding('GET', PAGE, ({ body }) => void body.messages.reverse()),
  },
  {
    what: 'createdAt in epoch milliseconds',
    found: 'messages.message.shape',
    breakage: succeeding('GET', PAGE, ({ body }) => {
      for (const message of body.messages) message.createdAt = Date.parse(message.createdAt);
    }),
  },
  {
    what: 'pages that are too long',
    found: 'messages.limit.honoured',
    breakage: asking('GET', PAGE, (request) => {
      request.path = request.path.replace('limit=1', 'limit=9');
    }),
  },
  {
    what: 'another default limit',
    found: 'messages.limit.default',
    breakage: asking('GET', SENDS, setting({ path: '/messages?limit=2' })),
  },
  {
    what: 'a limit of 101 that is accepted',
    found: 'messages.limit.outside',
    breakage: asking('GET', /limit=101/, setting({ path: '/messages?limit=100' })),
  },
  {
    what: 'a 200 for a forged cursor',
    found: 'messages.cursor.forged',
    breakage: answering(
      'GET',
      /[?&]cursor=/,
      setting(json(200, { messages: [], nextCursor: null, hasMore: false })),
    ),
  },
  {
    what: 'hasMore on the last page',
    found: 'messages.has-more',
    breakage: succeeding('GET', PAGE, inBody({ hasMore: true })),
  },
  {
    what: 'a filter that is ignored',
    found: 'messages.filter.outside',
    breakage: asking('GET', PAGE, (request) => {
      request.path = request.path.replace(/connectionId=[^&]*/, 'limit=20');
    }),
  },
  {
    what: 'another code for text and media',
    found: 'send.text-and-media',
    breakage: refusing('text_or_media', inBody({ error: 'invalid_request' })),
  },
  {
    what: 'a file that is left out beside a text',
    found: 'send.text-and-media',
    breakage: asking('POST', SENDS, ({ body }) => void (body?.text && delete body.media)),
  },
  {
    what: 'a limit on files of 10 MB',
    found: 'send.media.largest',
    breakage: replacing('POST', SENDS, ({ body }) =>
      body?.media?.data?.length > 10_000_000 ? json(413, { error: 'too_large' }) : undefined,
    ),
  },
  {
    what: 'a recipient that is normalized',
    found: 'send.to.refused',
    breakage: replacing('POST', SENDS, ({ body }) =>
      typeof body?.to === 'string' && /\D/.test(body.to) ? json(200, { messageId: 'x' }) : undefined,
    ),
  },
  {
    what: 'a maximum length of text that is too short',
    found: 'send.text.longest',
    breakage: replacing('POST', SENDS, ({ body }) =>
      body?.text?.length > 4000 ? json(400, { error: 'invalid_request', field: 'text' }) : undefined,
    ),
  },
  {
    what: 'a text of any length',
    found: 'send.text.too-long',
    breakage: replacing('POST', SENDS, ({ body }) =>
      body?.text?.length > 4096 ? json(200, { messageId: 'x' }) : undefined,
    ),
  },
  {
    what: 'a rate limit on read receipts',
    found: 'receipts.unlimited',
    breakage: () => {
      let count = 0;
      const limit = json(429, { error: 'rate_limited' });
      return { ask: ({ path }) => (path === '/messages/read' && ++count > 10 ? limit : undefined) };
    },
  },
  {
    what: 'the secret shown again',
    found: 'webhook.get.no-secret',
    breakage: succeeding('GET', WEBHOOK, inBody({ secret: 'shown' })),
  },
  {
    what: 'an event type left out',
    found: 'webhook.get.events',
    breakage: succeeding('GET', WEBHOOK, ({ body }) => void body.events.pop()),
  },
  ...(
    [
      ['scheme', 'http:'],
      ['loopback', 'localhost'],
      ['private', '192.168'],
      ['disguised', '2130706433'],
    ] as const
  ).map(([kind, part]) => ({
    what: `a webhook at an address with ${part}`,
    found: `webhook.put.refuses-${kind}`,
    breakage: replacing('PUT', WEBHOOK, ({ body }) =>
      body?.url?.includes?.(part) ? json(200, { url: body.url, events: [], secret: 'taken' }) : undefined,
    ),
  })),
  {
    what: 'a refused address that is stored anyway',
    found: 'webhook.put.refusal-changes-nothing',
    breakage: () => {
      let stored: string | undefined;
      return {
        answer({ body }, request) {
          if (is(request, 'PUT', WEBHOOK)) stored = request.body?.url;
          if (is(request, 'GET', WEBHOOK) && stored !== undefined) body.url = stored;
        },
      };
    },
  },
  {
    what: 'a 200 for a new connection',
    found: 'create.shape',
    breakage: succeeding('POST', LIST, setting({ status: 200 })),
  },
  {
    what: 'a label that is not stored',
    found: 'create.label',
    breakage: succeeding('GET', DETAIL, ({ body }) => {
      body.connection.label = '';
    }),
  },
  {
    what: 'a truncated picture',
    found: 'create.picture',
    breakage: succeeding('POST', LIST, ({ body }) => {
      body.connection.qr = body.connection.qr.slice(0, 400);
    }),
  },
  {
    what: 'a replay that is not marked as one',
    found: 'create.replay',
    breakage: answering('POST', LIST, ({ headers }) => void delete headers['idempotency-replayed']),
  },
  {
    what: 'a replay with a stale picture',
    found: 'create.replay.fresh-picture',
    breakage: freezing('POST', LIST, 'qr'),
  },
  {
    what: 'bodies that are compared as text',
    found: 'create.replay.canonical-body',
    breakage: () => {
      const refuse = json(400, { error: 'idempotency_key_reuse' });
      let made = false;
      return {
        ask(request) {
          if (!is(request, 'POST', LIST)) return undefined;
          if (made) return refuse;
          made = true;
          return undefined;
        },
      };
    },
  },
  {
    what: 'a key that matches any body',
    found: 'create.reuse',
    breakage: asking('POST', LIST, ({ headers, body }) => {
      if (headers['idempotency-key'] !== undefined && body !== undefined) body.label = 'Conformance check';
    }),
  },
  {
    what: 'keys that are ignored',
    found: 'create.at-once',
    breakage: asking('POST', LIST, ({ headers }) => void delete headers['idempotency-key']),
  },
  {
    what: 'a key that is truncated',
    found: 'create.key.too-long',
    breakage: asking('POST', LIST, ({ headers }) => {
      const key = headers['idempotency-key'];
      if (key !== undefined) headers['idempotency-key'] = randomUUID() + key.slice(36, 255);
    }),
  },
  {
    what: 'a blank key that counts as a key',
    found: 'create.key.blank',
    breakage: asking('POST', LIST, ({ headers }) => {
      if (headers['idempotency-key']?.trim() === '') headers['idempotency-key'] = 'blank-but-a-key';
    }),
  },
  {
    what: 'the same picture on every read',
    found: 'picture.new-each-time',
    breakage: freezing('GET', DETAIL, 'qr'),
  },
  {
    what: 'a picture that is no image',
    found: 'picture.png',
    breakage: succeeding('GET', DETAIL, ({ body }) => void Object.assign(body.connection, { qr: TINY })),
  },
  {
    what: 'a number that is normalized',
    found: 'pairing.phone.invalid',
    breakage: asking('POST', CODE, ({ body }) => {
      if (typeof body?.phoneNumber === 'string') body.phoneNumber = body.phoneNumber.replace(/[^\da-z]/g, '');
    }),
  },
  {
    what: 'a code without a hyphen',
    found: 'pairing.code.shape',
    breakage: succeeding('POST', CODE, ({ body }) => {
      body.code = body.code.replace('-', '');
    }),
  },
  {
    what: 'the same code each time',
    found: 'pairing.code.new-each-time',
    breakage: freezing('POST', CODE, 'code'),
  },
  {
    what: 'codes without a cap',
    found: 'pairing.cap',
    breakage: () => {
      let codes = 0;
      return {
        answer: (answer) => {
          if (answer.status === 429) Object.assign(answer, json(200, { code: `ABCD-${1000 + codes++}` }));
        },
      };
    },
  },
  {
    what: 'a cap of three codes',
    found: 'pairing.cap',
    breakage: () => {
      let codes = 0;
      const limit = json(429, { error: 'rate_limited' }, { 'retry-after': '60' });
      return { ask: (request) => (is(request, 'POST', CODE) && ++codes > 3 ? limit : undefined) };
    },
  },
  {
    what: 'a cap without Retry-After',
    found: 'pairing.cap.retry-after',
    breakage: refusing('rate_limited', ({ headers }) => void delete headers['retry-after']),
  },
  {
    what: 'a cap that ends after an hour',
    found: 'pairing.cap.retry-after',
    breakage: refusing('rate_limited', ({ headers }) => {
      headers['retry-after'] = new Date(Date.now() + 3_600_000).toUTCString();
    }),
  },
  {
    what: 'a restart without a picture',
    found: 'restart.picture',
    breakage: withoutPicture,
  },
  {
    what: 'a restart after a logout without a picture',
    found: 'logout.return',
    breakage: withoutPicture,
  },
  {
    what: 'a read message that fails',
    found: 'send.status-rises',
    breakage: () => {
      let reads = 0;
      return {
        answer({ body }, request) {
          if (!is(request, 'GET', PAGE)) return;
          reads += 1;
          for (const message of body.messages) message.status = reads === 1 ? 'read' : 'failed';
        },
      };
    },
  },
  {
    what: 'a logout that deletes',
    found: 'logout.record',
    breakage: () => {
      let gone = false;
      return {
        ask(request) {
          if (gone && is(request, 'GET', DETAIL)) return json(404, { error: 'not_found' });
          gone ||= request.path.endsWith('/logout');
          return undefined;
        },
      };
    },
  },
  {
    what: 'a deletion that deletes nothing',
    found: 'delete.gone',
    breakage: () => {
      let kept = true;
      return {
        ask(request) {
          if (!is(request, 'DELETE', DETAIL) || !kept) return undefined;
          kept = false;
          return json(200, { ok: true });
        },
      };
    },
  },
  {
    what: 'a restart without recreated',
    found: 'restart.shape',
    breakage: succeeding('POST', /\/restart$/, ({ body }) => void delete body.recreated),
  },
  {
    what: 'a repeated send that is sent again',
    found: 'send.repeat.once',
    breakage: asking('POST', SENDS, ({ body }) => void Object.assign(body, { idempotencyKey: randomUUID() })),
  },
  {
    what: 'concurrent sends that are all sent',
    found: 'send.at-once',
    breakage: asking('POST', SENDS, ({ body }) => void delete body.idempotencyKey),
  },
  {
    what: 'a messageId that matches no message',
    found: 'send.text.listed',
    breakage: succeeding('POST', SENDS, ({ body }) => {
      body.messageId = body.waMessageId ?? 'other';
    }),
  },
  {
    what: 'a generic error for a number that is not on the network',
    found: 'send.absent',
    breakage: refusing('recipient_not_on_whatsapp', setting(json(502, { error: 'send_failed' }))),
  },
  {
    what: 'a read receipt without its count',
    found: 'receipts.shape',
    breakage: succeeding('POST', /^\/messages\/read$/, ({ body }) => void delete body.marked),
  },
  {
    what: 'an address list that is ignored',
    found: 'address.refused',
    breakage: refusing('ip_not_allowed', setting(json(200, { connections: [] }))),
  },
  {
    what: 'an address that is taken from a header',
    found: 'address.forwarded',
    breakage: replacing('GET', LIST, ({ headers }) =>
      headers['x-forwarded-for'] === '10.0.0.1' ? json(200, { connections: [] }) : undefined,
    ),
  },
  {
    what: 'a new connection in a portal',
    found: 'portal.create',
    breakage: refusing(
      'forbidden_portal_kind',
      setting(json(201, { connection: { id: 'new', status: 'connecting' } })),
    ),
  },
  {
    what: 'a lapsed connection in the list',
    found: 'license.hidden',
    breakage: ({ lapsedConnectionId }) =>
      succeeding('GET', LIST, ({ body }) => body.connections.push({ id: lapsedConnectionId }))(),
  },
  {
    what: 'another status for a lapsed license',
    found: 'license.send',
    breakage: refusing('license_inactive', setting({ status: 403 })),
  },
  {
    what: 'a page instead of an error body',
    found: 'wire.error-body',
    breakage: refusing('invalid_request', setting({ body: '<h1>Bad request</h1>' })),
  },
  {
    what: 'a page instead of a generic error',
    found: 'wire.generic-errors',
    breakage: refusing('not_found', setting({ body: '<h1>Not found</h1>' })),
  },
  {
    what: 'a wrong content type',
    found: 'wire.json',
    breakage: succeeding('GET', LIST, ({ headers }) => {
      headers['content-type'] = 'text/plain';
    }),
  },
  {
    what: 'a code with another status',
    found: 'wire.error-status',
    breakage: refusing('invalid_request', setting({ status: 422 })),
  },
  {
    what: 'invalid_request without the field',
    found: 'wire.error-field',
    breakage: refusing('invalid_request', ({ body }) => void delete body.field),
  },
  {
    what: 'an answer that repeats the key',
    found: 'wire.no-credential',
    breakage: answering('GET', LIST, (answer, { headers }) => {
      if (answer.status === 200) answer.body.you = headers['authorization'];
    }),
  },
];
