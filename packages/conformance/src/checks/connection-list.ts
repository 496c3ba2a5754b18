import { Violation } from '../../../certify/src/runner/check.ts';
import { listConnections, readConnections, someConnections } from '../fixtures/connections.ts';
import { expectEqual, expectStatus } from '../service/judge.ts';
import { inSection } from '../service/service-check.ts';
import { demandShape } from '../service/shape.ts';
import { connectionList, LIST_ALIASES } from '../service/spec-shapes.ts';

const SECTION = 'Connection list item';
const CUID = /^[a-z0-9]{20,36}$/;

/** `GET /connections`. Implements `Connection list item`. */
export const connectionListChecks = inSection({ section: SECTION }, [
  {
    id: 'connections.list.shape',
    rule: 'GET /connections returns 200 with a list whose items have every field of the table.',
    async run(context, probe) {
      const exchange = await listConnections(context);
      expectStatus(exchange, 200);
      demandShape(exchange, connectionList, probe);
      probe.note(`${readConnections(exchange).length} connections`);
    },
  },
  {
    id: 'connections.list.aliases',
    section: 'Versioning',
    rule: 'In the list phone equals phoneNumber, and name equals label.',
    async run(context) {
      for (const { fields } of await someConnections(context)) {
        for (const [name, alias] of LIST_ALIASES) expectEqual(alias, fields[name], fields[alias]);
      }
    },
  },
  {
    id: 'connections.list.ids',
    rule: 'Each connection appears once in the list.',
    async run(context) {
      const ids = (await someConnections(context)).map(({ id }) => id);
      expectEqual('different ids', ids.length, new Set(ids).size);
    },
  },
  {
    id: 'connections.list.stable',
    rule: 'Ids are stable: two reads return the same ones.',
    async run(context) {
      const before = (await someConnections(context)).map(({ id }) => id);
      const after = readConnections(await context.api.request('GET', '/connections')).map(({ id }) => id);
      expectEqual('ids', before.toSorted(), after.toSorted());
    },
  },
  {
    id: 'connections.list.cuid',
    rule: 'An id is a cuid: lower-case letters and digits.',
    level: 'should',
    async run(context) {
      for (const { id } of await someConnections(context)) {
        if (!CUID.test(id)) throw new Violation('a cuid', JSON.stringify(id));
      }
    },
  },
  {
    id: 'connections.list.licensed',
    section: 'What the service does, 4',
    rule: 'Only connections with an active license or add-on are listed.',
    async run(context) {
      for (const { id, fields } of await someConnections(context)) {
        if (fields['licenseValid'] !== true) {
          throw new Violation('licenseValid true', `${id}: ${String(fields['licenseValid'])}`);
        }
      }
    },
  },
  {
    id: 'connections.list.paired',
    section: 'Connection list item',
    rule: 'The list contains only connections that a number has paired with.',
    level: 'reading',
    async run(context) {
      for (const { id, fields } of await someConnections(context)) {
        if (typeof fields['phoneNumber'] !== 'string' || fields['phoneNumber'] === '') {
          throw new Violation('a phoneNumber', `${id} has none`);
        }
      }
    },
  },
]);
