import { Skip, Violation } from '../../../certify/src/runner/check.ts';
import { connectionOf, isLive, listedDetail } from '../fixtures/connections.ts';
import { expectEqual, expectRefusal, expectRefused } from '../service/judge.ts';
import { HARMLESS, UNKNOWN_ID } from '../service/requests.ts';
import { inSection } from '../service/service-check.ts';
import { shapeCheck } from '../service/shape-check.ts';
import { DETAIL_ALIASES, pairedDetail } from '../service/spec-shapes.ts';

const SECTION = 'Connection detail';
const ON_UNKNOWN = HARMLESS.filter(({ path }) => path.includes(UNKNOWN_ID));

/** `GET /connections/{id}`, and ids that do not exist. Implements `Connection detail`. */
export const connectionDetailChecks = inSection({ section: SECTION }, [
  shapeCheck({
    id: 'connections.detail.shape',
    rule: 'GET /connections/{id} returns 200 with every field of the table.',
    ask: async (context) => (await listedDetail(context)).exchange,
    shape: pairedDetail,
  }),
  {
    id: 'connections.detail.aliases',
    section: 'Versioning',
    rule: 'In the detail phone, license_status and license_expires equal their newer names.',
    async run(context) {
      const { exchange } = await listedDetail(context);
      const connection = connectionOf(exchange);
      for (const [name, alias] of DETAIL_ALIASES) {
        expectEqual(alias, connection[name], connection[alias], exchange);
      }
    },
  },
  {
    id: 'connections.detail.agrees',
    rule: 'List and detail have the same values for a connection.',
    async run(context) {
      const { listed, exchange } = await listedDetail(context);
      const connection = connectionOf(exchange);
      const shared = ['id', 'phoneNumber', 'label', 'provider', 'licenseStatus', 'licenseExpires'];
      for (const name of shared) expectEqual(name, listed.fields[name], connection[name], exchange);
    },
  },
  {
    id: 'connections.detail.live-status',
    section: 'Connection status',
    rule: 'A live connection is open in the list and connected in the detail.',
    level: 'reading',
    async run(context) {
      const { listed, exchange } = await listedDetail(context);
      const [inList, inDetail] = [listed.fields['status'], connectionOf(exchange)['status']];
      if (!isLive(inList) && !isLive(inDetail)) throw new Skip('the connection is not live');
      expectEqual('status in list and detail', ['open', 'connected'].join(), [inList, inDetail].join());
    },
  },
  {
    id: 'connections.detail.no-picture',
    rule: 'The detail of a live connection has no qr.',
    level: 'reading',
    async run(context) {
      const { exchange } = await listedDetail(context);
      const connection = connectionOf(exchange);
      if (!isLive(connection['status'])) throw new Skip('the connection is not live');
      if (connection['qr'] !== undefined) throw new Violation('no qr', 'a qr', exchange);
    },
  },
  {
    id: 'connections.unknown.refused',
    section: 'Endpoints',
    rule: 'An id that does not exist is rejected by every endpoint that takes one.',
    async run(context) {
      for (const request of ON_UNKNOWN)
        expectRefused(await context.api.request(request.method, request.path, request), 'an unknown id');
    },
  },
  {
    id: 'connections.unknown.code',
    section: 'Errors',
    rule: 'An id that does not exist returns 404 not_found.',
    level: 'reading',
    async run(context) {
      for (const request of ON_UNKNOWN) {
        const exchange = await context.api.request(request.method, request.path, request);
        expectRefusal(exchange, { status: 404, code: 'not_found' });
      }
    },
  },
]);
