import { Violation } from '../../../certify/src/runner/check.ts';
import { isLive, listConnections, readConnections } from '../fixtures/connections.ts';
import type { ServiceContext } from '../service/context.ts';
import { isObject } from '../service/judge.ts';
import { inSection } from '../service/service-check.ts';
import { shapeCheck } from '../service/shape-check.ts';
import { account } from '../service/spec-shapes.ts';

const SECTION = 'Account (GET /account)';

const readAccount = (context: ServiceContext) =>
  context.once('the account', () => context.api.request('GET', '/account'));

/**
 * The counts of one part of the account; a value that is not a number is read as NaN, which violates every
 * rule.
 */
function counts(json: unknown, part: string): Readonly<Record<string, number>> {
  const found = isObject(json) ? json[part] : undefined;
  return isObject(found)
    ? Object.fromEntries(Object.entries(found).map(([name, value]) => [name, Number(value)]))
    : {};
}

/** `GET /account`. Implements `Account`. */
export const accountChecks = inSection({ section: SECTION }, [
  shapeCheck({
    id: 'account.shape',
    rule: 'GET /account returns 200 with slots and connections, counted in integers.',
    ask: readAccount,
    shape: account,
  }),
  {
    id: 'account.slots',
    rule: 'Used and available slots are each at most the total.',
    level: 'should',
    async run(context) {
      const exchange = await readAccount(context);
      const { total, used, available } = counts(exchange.json, 'slots');
      if (!(Number(used) + Number(available) <= Number(total))) {
        throw new Violation(`used and available at most ${total}`, `${used} and ${available}`, exchange);
      }
    },
  },
  {
    id: 'account.connections',
    rule: 'All listed connections are counted, live ones as connected, and no part exceeds the total.',
    level: 'should',
    async run(context) {
      const exchange = await readAccount(context);
      const { total, connected, needsReconnect } = counts(exchange.json, 'connections');
      const all = readConnections(await listConnections(context));
      const [listed, live] = [all.length, all.filter(({ fields }) => isLive(fields['status'])).length];
      if (!(Number(connected) + Number(needsReconnect) <= Number(total) && listed <= Number(total))) {
        const found = `${connected} connected, ${needsReconnect} to reconnect, ${listed} listed`;
        throw new Violation(`at most ${total} of each`, found, exchange);
      }
      if (Number(connected) < live) throw new Violation(`${live} connected`, `${connected}`, exchange);
    },
  },
]);
