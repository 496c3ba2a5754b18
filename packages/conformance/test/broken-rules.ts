import { randomUUID } from 'node:crypto';
import type { ServiceInputs } from '../src/service/inputs.ts';
import {
  type Breakage,
  type Broken,
  json,
  type PassingAnswer,
  type PassingRequest,
  setting,
} from './broken-proxy.ts';

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

/** Accepts a webhook at an address with this part. */
const takingAddress = (part: string) =>
  replacing('PUT', WEBHOOK, ({ body }) =>
    body?.url?.includes?.(part) ? json(200, { url: body.url, events: [], secret: 'taken' }) : undefined,
  );

const TINY = 'data:image/png;base64,iVBORw0KGgo=';

/** Services that are correct except for one mistake. */
export const BROKEN_RULES: Broken<(inputs: ServiceInputs) => Breakage> = {
  'auth.unknown-key.refused': {
    'a 403 instead of a 401 for an unknown key': refusing('invalid_key', setting({ status: 403 })),
  },
  'auth.challenge': {
    'no challenge for an unknown key': refusing('invalid_key', ({ headers }, request) => {
      if (request.headers['authorization'] !== undefined) delete headers['www-authenticate'];
    }),
    'a challenge of another scheme without a credential': refusing('invalid_key', ({ headers }, request) => {
      if (request.headers['authorization'] === undefined) headers['www-authenticate'] = 'Basic realm="x"';
    }),
  },
  'auth.none.refused': {
    'an endpoint that asks for no credential': replacing('GET', /^\/account$/, ({ headers }) =>
      headers['authorization'] === undefined ? json(200, {}) : undefined,
    ),
  },
  'scope.send.needed': {
    'a scope that is not checked': refusing('insufficient_scope', (answer) => {
      answer.status = 404;
      answer.body = { error: 'not_found' };
    }),
  },
  'connections.list.shape': {
    'an alias left out': succeeding('GET', LIST, ({ body }) => void delete body.connections[0].phone),
    'a date as a number': succeeding('GET', LIST, ({ body }) => {
      body.connections[0].licenseExpires = 1;
    }),
  },
  'connections.list.aliases': {
    'an alias with another value': succeeding('GET', LIST, ({ body }) => {
      body.connections[0].name = 'Other';
    }),
  },
  'connections.list.licensed': {
    'a connection without a license in the list': succeeding('GET', LIST, ({ body }) => {
      body.connections[0].licenseValid = false;
    }),
  },
  'connections.detail.shape': {
    'an alias of the detail left out': succeeding(
      'GET',
      DETAIL,
      ({ body }) => void delete body.connection.license_status,
    ),
  },
  'connections.detail.aliases': {
    'an alias of the detail with another value': succeeding('GET', DETAIL, ({ body }) => {
      body.connection.license_expires = null;
    }),
  },
  'account.shape': {
    'counts as strings': succeeding(
      'GET',
      /^\/account$/,
      ({ body }) => void Object.assign(body.slots, { total: '9' }),
    ),
  },
  'account.connections': {
    'live connections that are not counted as connected': succeeding('GET', /^\/account$/, ({ body }) => {
      body.connections.connected = 0;
    }),
  },
  'messages.walk': {
    'a message skipped between two pages': answering(
      'GET',
      /[?&]cursor=/,
      ({ body }) => void body.messages?.shift(),
    ),
    'a message that is listed twice': () => {
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
  'messages.order': {
    'the oldest message first': succeeding('GET', PAGE, ({ body }) => void body.messages.reverse()),
  },
  'messages.message.shape': {
    'createdAt in epoch milliseconds': succeeding('GET', PAGE, ({ body }) => {
      for (const message of body.messages) message.createdAt = Date.parse(message.createdAt);
    }),
  },
  'messages.limit.honoured': {
    'pages that are too long': asking('GET', PAGE, (request) => {
      request.path = request.path.replace('limit=1', 'limit=9');
    }),
  },
  'messages.limit.default': {
    'another default limit': asking('GET', SENDS, setting({ path: '/messages?limit=2' })),
  },
  'messages.limit.outside': {
    'a limit of 101 that is accepted': asking('GET', /limit=101/, setting({ path: '/messages?limit=100' })),
  },
  'messages.cursor.forged': {
    'a 200 for a forged cursor': answering(
      'GET',
      /[?&]cursor=/,
      setting(json(200, { messages: [], nextCursor: null, hasMore: false })),
    ),
  },
  'messages.has-more': {
    'hasMore on the last page': succeeding('GET', PAGE, inBody({ hasMore: true })),
  },
  'messages.filter.connection': {
    'a message that the filter leaves out': succeeding(
      'GET',
      /messages\?.*connectionId=/,
      ({ body }) => void body.messages.pop(),
    ),
  },
  'messages.filter.outside': {
    'a filter that is ignored': asking('GET', PAGE, (request) => {
      request.path = request.path.replace(/connectionId=[^&]*/, 'limit=20');
    }),
  },
  'send.text-and-media': {
    'another code for text and media': refusing('text_or_media', inBody({ error: 'invalid_request' })),
    'a file that is left out beside a text': asking(
      'POST',
      SENDS,
      ({ body }) => void (body?.text && delete body.media),
    ),
  },
  'send.media.largest': {
    'a limit on files of 10 MB': replacing('POST', SENDS, ({ body }) =>
      body?.media?.data?.length > 10_000_000 ? json(413, { error: 'too_large' }) : undefined,
    ),
  },
  'send.to.refused': {
    'a recipient that is normalized': replacing('POST', SENDS, ({ body }) =>
      typeof body?.to === 'string' && /\D/.test(body.to) ? json(200, { messageId: 'x' }) : undefined,
    ),
  },
  'send.text.longest': {
    'a maximum length of text that is too short': replacing('POST', SENDS, ({ body }) =>
      body?.text?.length > 4000 ? json(400, { error: 'invalid_request', field: 'text' }) : undefined,
    ),
  },
  'send.text.too-long': {
    'a text of any length': replacing('POST', SENDS, ({ body }) =>
      body?.text?.length > 4096 ? json(200, { messageId: 'x' }) : undefined,
    ),
  },
  'receipts.unlimited': {
    'a rate limit on read receipts': () => {
      let count = 0;
      const limit = json(429, { error: 'rate_limited' });
      return { ask: ({ path }) => (path === '/messages/read' && ++count > 10 ? limit : undefined) };
    },
  },
  'webhook.get.no-secret': {
    'the secret shown again': succeeding('GET', WEBHOOK, inBody({ secret: 'shown' })),
  },
  'webhook.get.events': {
    'an event type left out': succeeding('GET', WEBHOOK, ({ body }) => void body.events.pop()),
  },
  'webhook.put.refuses-scheme': {
    'a webhook at an address with http:': takingAddress('http:'),
  },
  'webhook.put.refuses-loopback': {
    'a webhook at an address with localhost': takingAddress('localhost'),
  },
  'webhook.put.refuses-private': {
    'a webhook at an address with 192.168': takingAddress('192.168'),
  },
  'webhook.put.refuses-disguised': {
    'a webhook at an address with 2130706433': takingAddress('2130706433'),
  },
  'webhook.put.refusal-changes-nothing': {
    'a refused address that is stored anyway': () => {
      let stored: string | undefined;
      return {
        answer({ body }, request) {
          if (is(request, 'PUT', WEBHOOK)) stored = request.body?.url;
          if (is(request, 'GET', WEBHOOK) && stored !== undefined) body.url = stored;
        },
      };
    },
  },
  'create.shape': {
    'a 200 for a new connection': succeeding('POST', LIST, setting({ status: 200 })),
  },
  'create.label': {
    'a label that is not stored': succeeding('GET', DETAIL, ({ body }) => {
      body.connection.label = '';
    }),
  },
  'create.picture': {
    'a truncated picture': succeeding('POST', LIST, ({ body }) => {
      body.connection.qr = body.connection.qr.slice(0, 400);
    }),
  },
  'create.replay': {
    'a replay that is not marked as one': answering(
      'POST',
      LIST,
      ({ headers }) => void delete headers['idempotency-replayed'],
    ),
  },
  'create.replay.fresh-picture': {
    'a replay with a stale picture': freezing('POST', LIST, 'qr'),
  },
  'create.replay.canonical-body': {
    'bodies that are compared as text': () => {
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
  'create.reuse': {
    'a key that matches any body': asking('POST', LIST, ({ headers, body }) => {
      if (headers['idempotency-key'] !== undefined && body !== undefined) body.label = 'Conformance check';
    }),
  },
  'create.at-once': {
    'keys that are ignored': asking('POST', LIST, ({ headers }) => void delete headers['idempotency-key']),
  },
  'create.key.too-long': {
    'a key that is truncated': asking('POST', LIST, ({ headers }) => {
      const key = headers['idempotency-key'];
      if (key !== undefined) headers['idempotency-key'] = randomUUID() + key.slice(36, 255);
    }),
  },
  'create.key.blank': {
    'a blank key that counts as a key': asking('POST', LIST, ({ headers }) => {
      if (headers['idempotency-key']?.trim() === '') headers['idempotency-key'] = 'blank-but-a-key';
    }),
  },
  'picture.new-each-time': {
    'the same picture on every read': freezing('GET', DETAIL, 'qr'),
  },
  'picture.png': {
    'a picture that is no image': succeeding(
      'GET',
      DETAIL,
      ({ body }) => void Object.assign(body.connection, { qr: TINY }),
    ),
  },
  'pairing.phone.invalid': {
    'a number that is normalized': asking('POST', CODE, ({ body }) => {
      if (typeof body?.phoneNumber === 'string') body.phoneNumber = body.phoneNumber.replace(/[^\da-z]/g, '');
    }),
  },
  'pairing.code.shape': {
    'a code without a hyphen': succeeding('POST', CODE, ({ body }) => {
      body.code = body.code.replace('-', '');
    }),
  },
  'pairing.code.new-each-time': {
    'the same code each time': freezing('POST', CODE, 'code'),
  },
  'pairing.cap': {
    'codes without a cap': () => {
      let codes = 0;
      return {
        answer: (answer) => {
          if (answer.status === 429) Object.assign(answer, json(200, { code: `ABCD-${1000 + codes++}` }));
        },
      };
    },
    'a cap of three codes': () => {
      let codes = 0;
      const limit = json(429, { error: 'rate_limited' }, { 'retry-after': '60' });
      return { ask: (request) => (is(request, 'POST', CODE) && ++codes > 3 ? limit : undefined) };
    },
  },
  'pairing.cap.retry-after': {
    'a cap without Retry-After': refusing(
      'rate_limited',
      ({ headers }) => void delete headers['retry-after'],
    ),
    'a cap that ends after an hour': refusing('rate_limited', ({ headers }) => {
      headers['retry-after'] = new Date(Date.now() + 3_600_000).toUTCString();
    }),
  },
  'restart.picture': {
    'a restart without a picture': withoutPicture,
  },
  'logout.return': {
    'a restart after a logout without a picture': withoutPicture,
  },
  'send.status-rises': {
    'a read message that fails': () => {
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
  'logout.record': {
    'a logout that deletes': () => {
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
  'delete.gone': {
    'a deletion that deletes nothing': () => {
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
  'restart.shape': {
    'a restart without recreated': succeeding('POST', /\/restart$/, ({ body }) => void delete body.recreated),
  },
  'send.repeat.once': {
    'a repeated send that is sent again': asking(
      'POST',
      SENDS,
      ({ body }) => void Object.assign(body, { idempotencyKey: randomUUID() }),
    ),
  },
  'send.at-once': {
    'concurrent sends that are all sent': asking(
      'POST',
      SENDS,
      ({ body }) => void delete body.idempotencyKey,
    ),
  },
  'send.text.listed': {
    'a messageId that matches no message': succeeding('POST', SENDS, ({ body }) => {
      body.messageId = body.waMessageId ?? 'other';
    }),
  },
  'send.absent': {
    'a generic error for a number that is not on the network': refusing(
      'recipient_not_on_whatsapp',
      setting(json(502, { error: 'send_failed' })),
    ),
  },
  'receipts.shape': {
    'a read receipt without its count': succeeding(
      'POST',
      /^\/messages\/read$/,
      ({ body }) => void delete body.marked,
    ),
  },
  'address.refused': {
    'an address list that is ignored': refusing('ip_not_allowed', setting(json(200, { connections: [] }))),
  },
  'address.forwarded': {
    'an address that is taken from a header': replacing('GET', LIST, ({ headers }) =>
      headers['x-forwarded-for'] === '10.0.0.1' ? json(200, { connections: [] }) : undefined,
    ),
  },
  'portal.create': {
    'a new connection in a portal': refusing(
      'forbidden_portal_kind',
      setting(json(201, { connection: { id: 'new', status: 'connecting' } })),
    ),
  },
  'license.hidden': {
    'a lapsed connection in the list': ({ lapsedConnectionId }) =>
      succeeding('GET', LIST, ({ body }) => body.connections.push({ id: lapsedConnectionId }))(),
  },
  'license.send': {
    'another status for a lapsed license': refusing('license_inactive', setting({ status: 403 })),
  },
  'wire.error-body': {
    'a page instead of an error body': refusing('invalid_request', setting({ body: '<h1>Bad request</h1>' })),
  },
  'wire.generic-errors': {
    'a page instead of a generic error': refusing('not_found', setting({ body: '<h1>Not found</h1>' })),
  },
  'wire.json': {
    'a wrong content type': succeeding('GET', LIST, ({ headers }) => {
      headers['content-type'] = 'text/plain';
    }),
  },
  'wire.error-status': {
    'a code with another status': refusing('invalid_request', setting({ status: 422 })),
  },
  'wire.error-field': {
    'invalid_request without the field': refusing('invalid_request', ({ body }) => void delete body.field),
  },
  'wire.no-credential': {
    'an answer that repeats the key': answering('GET', LIST, (answer, { headers }) => {
      if (answer.status === 200) answer.body.you = headers['authorization'];
    }),
  },
};
