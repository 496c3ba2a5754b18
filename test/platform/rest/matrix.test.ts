import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { SERVICE_ENDPOINTS } from '../../../src/contract/service/endpoints.ts';
import { seedWorkspace, startTestPlatform, type TestPlatform } from '../../support/platform.ts';
import { proves } from '../../support/proves.ts';
import { developersSignedIn, useOauth } from '../oauth/oauth-fixture.ts';
import {
  BAD_CURSOR,
  type Caller,
  CONNECTIONS,
  CURSORS,
  EMPTY,
  ENDPOINTS,
  type Expected,
  everySubset,
  HIDDEN,
  MESSAGES,
  type Names,
  type Row,
  refusalOf,
  SCOPES,
} from './access-matrix.ts';

/** Out of reach of keys with a list alone. */
const OFF_LIST = 'off the list of the key';

describe('the matrix', () => {
  it('has a row for each endpoint, with its scope', () => {
    const names = { connection: '{id}', message: '{message}' };
    const rows = ENDPOINTS.map(
      ({ method, path, scope }) => `${method} ${path(names).replace(/\?.*/, '')} ${scope}`,
    );
    const endpoints = Object.values(SERVICE_ENDPOINTS);
    expect(rows.sort()).toEqual(
      endpoints.map(({ method, path, scope }) => `${method} ${path} ${scope}`).sort(),
    );
  });
});

describe('every endpoint × every insufficient credential × every inaccessible id', () => {
  let service: TestPlatform;
  let names: {
    own: Names;
    connections: Record<(typeof CONNECTIONS)[number], string>;
    cursors: Record<(typeof CURSORS)[number], string>;
    messages: Record<(typeof MESSAGES)[number], string>;
  };
  const callers: Caller[] = [];
  let workspaceId: string;

  beforeEach(async () => {
    callers.length = 0;
    service = await startTestPlatform({ ports: { portal: developersSignedIn } });
    names = await seed();
    await makeCallers(names.own.connection);
    await makeTokens(names.own.connection, names.connections[OFF_LIST]);
  });
  afterEach(() => service.close());

  const receive = async (connectionId: string): Promise<string> =>
    (await service.platform.messages.receive(connectionId, { from: '4915700000001', text: 'hello' }))
      .messageId;
  const firstCursor = async (key: string, query: string): Promise<string> => {
    const { body } = await service.call('GET', `/messages?limit=1${query}`, { key });
    return String(Reflect.get(Object(body), 'nextCursor'));
  };

  async function seed(): Promise<typeof names> {
    const home = await seedWorkspace(service);
    const abroad = await seedWorkspace(service, { phoneNumber: '4915187654321' });
    ({ workspaceId } = home);
    const { connections } = service.platform;
    const add = async (phoneNumber: string): Promise<string> =>
      (await connections.createPaired(workspaceId, { provider: 'qr', phoneNumber })).id;
    const offList = await add('4915112345679');
    const second = await add('4915112345680');
    const deleted = await add('4915112345681');
    await service.call('DELETE', `/connections/${deleted}`, { key: home.key });
    const received = await receive(home.connectionId);
    await receive(home.connectionId);
    const sent = await service.call('POST', '/messages', {
      key: home.key,
      body: { connectionId: home.connectionId, to: '4915700000001', text: 'hi' },
    });
    const foreign = await receive(abroad.connectionId);
    await receive(abroad.connectionId);
    const cursor = await firstCursor(home.key, '');
    const ofOffList = await receive(offList);
    const ofSecond = await receive(second);
    await service.platform.settle();
    // Last of all: nothing is delivered to it, so no test waits for a host that is not there.
    await service.call('PUT', '/webhook', { key: home.key, body: { url: 'https://hooks.example/' } });
    return {
      own: { connection: home.connectionId, message: received },
      connections: {
        unknown: `c${'0'.repeat(24)}`,
        // In a path this is NUL.
        malformed: '%00',
        'of another workspace': abroad.connectionId,
        'off the list of the key': offList,
        deleted,
      },
      cursors: {
        forged: 'A'.repeat(32),
        'cut short': (await firstCursor(home.key, `&connectionId=${home.connectionId}`)).slice(0, 31),
        'of another workspace': await firstCursor(abroad.key, `&connectionId=${abroad.connectionId}`),
        'of another filter': cursor,
      },
      messages: {
        unknown: `c${'0'.repeat(24)}`,
        'of another workspace': foreign,
        'of a connection off the list': ofOffList,
        'of another connection': ofSecond,
        outgoing: String(Reflect.get(Object(sent.body), 'messageId')),
      },
    };
  }

  /**
   * Keys with every set of scopes; revoked, off their allowlist or both with all scopes and with none, since
   * either comes before scopes; no key, and one that nobody has.
   */
  async function makeCallers(own: string): Promise<void> {
    const { apiKeys } = service.platform;
    for (const [revoked, offList] of [
      [false, false],
      [false, true],
      [true, false],
      [true, true],
    ] as const) {
      for (const scopes of revoked || offList ? [[], SCOPES] : everySubset()) {
        const ipAllowlist = offList ? ['203.0.113.0/24', '2001:db8::/32'] : ['127.0.0.1'];
        const access = { scopes, ipAllowlist, connectionIds: [own] };
        const { id, key } = await apiKeys.create(workspaceId, access);
        if (revoked) await apiKeys.revoke(id);
        const what = [revoked ? 'revoked' : '', offList ? 'off-list' : '', `[${scopes.join()}]`].join(' ');
        callers.push({ what, key, revoked, offList, scopes });
      }
    }
    const whole = await apiKeys.create(workspaceId, { ipAllowlist: ['127.0.0.1'] });
    callers.push({
      what: 'whole workspace',
      key: whole.key,
      revoked: false,
      offList: false,
      scopes: SCOPES,
      wholeWorkspace: true,
    });
    const nobody = { revoked: true, offList: false, scopes: [] };
    callers.push({ what: 'no key', key: undefined, ...nobody });
    callers.push({ what: 'unknown key', key: `msk_${'0'.repeat(43)}`, ...nobody });
  }

  /**
   * Access tokens over one connection with each scope alone; one that had more scopes and connections until its
   * grant was narrowed; and those of a revoked grant, of an app that is off, and for the tools alone.
   */
  async function makeTokens(own: string, offList: string): Promise<void> {
    const { apps, grants } = service.platform.oauth;
    const { register, obtainTokens } = useOauth(service, workspaceId);
    const app = await register();
    const add = async (what: string, fields: Record<string, string>, caller: Partial<Caller> = {}) => {
      const { access: key } = await obtainTokens(app, { connection_ids: own, ...fields });
      callers.push({ what, key, oauth: true, revoked: false, offList: false, scopes: SCOPES, ...caller });
      const [newest] = await grants.list({ limit: 1 });
      return newest?.id ?? '';
    };
    for (const scope of SCOPES) await add(`token [${scope}]`, { scope }, { scopes: [scope] });
    const more = { connection_ids: `${own} ${offList}` };
    const narrowed = await add('token of a narrowed grant', more, { scopes: ['messaging.send'] });
    await grants.narrow(narrowed, { scopes: ['messaging.send'], connectionIds: [own] });
    const ended = { revoked: true };
    await grants.revoke(await add('token of a revoked grant', {}, ended));
    await add('token for the tools', { resource: `${service.origin}/api/mcp` }, ended);
    const off = await register();
    const { access: key } = await obtainTokens(off);
    await apps.setEnabled(off.clientId, false);
    callers.push({
      what: 'token of an app that is off',
      key,
      oauth: true,
      ...ended,
      offList: false,
      scopes: SCOPES,
    });
  }

  /** One call and what it must be answered. */
  interface Cell {
    readonly what: string;
    readonly row: Row;
    readonly caller: Caller;
    readonly names: Names;
    readonly expected: Expected;
  }

  /** The names of a call to an endpoint, each with the answer of a credential that may call it; null: it works. */
  function targetsOf(row: Row): [what: string, names: Names, answer: Expected | null][] {
    const { own } = names;
    const targets: [string, Names, Expected | null][] = [['own', own, null]];
    const { foreign } = row;
    if (foreign !== undefined) {
      for (const what of CONNECTIONS) {
        const connection = names.connections[what];
        targets.push([`connection ${what}`, { ...own, connection }, foreign === 'hidden' ? HIDDEN : EMPTY]);
      }
    }
    if (row.takes === 'cursor') {
      for (const what of CURSORS) {
        targets.push([`cursor ${what}`, { ...own, cursor: names.cursors[what] }, BAD_CURSOR]);
      }
    }
    if (row.takes === 'message') {
      for (const what of MESSAGES) {
        targets.push([`message ${what}`, { ...own, message: names.messages[what] }, HIDDEN]);
      }
    }
    return targets;
  }

  /** All calls but those that are allowed. */
  function cellsOf(row: Row): Cell[] {
    const cells: Cell[] = [];
    for (const [target, named, answer] of targetsOf(row)) {
      for (const caller of callers) {
        const expected = refusalOf(caller, row) ?? answer;
        if (expected === null) continue;
        if (caller.wholeWorkspace === true && named.connection === names.connections[OFF_LIST]) continue;
        const what = `${row.method} ${row.path(named)} · ${caller.what} · ${target}`;
        cells.push({ what, row, caller, names: named, expected });
      }
    }
    return cells;
  }

  const ask = ({ row, caller, names: named }: Omit<Cell, 'what' | 'expected'>) =>
    service.call(row.method, row.path(named), {
      ...(caller.key === undefined ? {} : { key: caller.key }),
      ...(row.body === undefined ? {} : { body: row.body(named) }),
    });

  async function answerOf(cell: Cell): Promise<[string, ...Expected]> {
    const { status, body, headers } = await ask(cell);
    return [cell.what, status, Object(body), headers.get('www-authenticate')];
  }

  /** Every row of every table of the service, as one text. */
  async function readState(): Promise<string> {
    const tables = await service.database.query<{ name: string }>(
      `SELECT quote_ident(table_name) AS name FROM information_schema.tables
       WHERE table_schema = 'platform' AND table_type = 'BASE TABLE' ORDER BY 1`,
    );
    expect(tables.length).toBeGreaterThan(10);
    const contents = await Promise.all(
      tables.map(({ name }) =>
        service.database.query(`SELECT t::text AS row FROM platform.${name} t ORDER BY 1`),
      ),
    );
    return JSON.stringify(tables.map(({ name }, index) => [name, contents[index]]));
  }

  const IN_FLIGHT = 16;

  it('refuses each with its status, code and challenge, and none changes anything', {
    timeout: 120_000,
  }, async () => {
    proves('auth.key.off-list', 'auth.key.revoked', 'auth.key.unknown', 'auth.challenge');
    proves('scopes.missing');
    proves('errors.invalid_key', 'errors.ip_not_allowed', 'errors.insufficient_scope');
    proves('choice.no-credential', 'choice.foreign.same', 'choice.cursor.refused', 'choice.marked.unknown');
    proves('connections.list.scope', 'connections.create.scope', 'connections.get.scope');
    proves('connections.delete.scope', 'connections.restart.scope', 'connections.logout.scope');
    proves('connections.pairing-code.scope');
    proves('account.get.scope');
    proves('messages.list.scope', 'messages.send.scope', 'messages.read.scope');
    proves('webhook.get.scope', 'webhook.put.scope', 'webhook.rotate.scope');
    const before = await readState();
    let cells = 0;
    for (const row of ENDPOINTS) {
      const waiting = cellsOf(row);
      cells += waiting.length;
      while (waiting.length > 0) {
        const batch = waiting.splice(0, IN_FLIGHT);
        expect(await Promise.all(batch.map(answerOf))).toEqual(
          batch.map(({ what, expected }) => [what, ...expected]),
        );
      }
    }
    await service.platform.settle();
    expect(await readState()).toBe(before);
    expect(cells).toBe(1_929);
  });

  it('accepts the same calls with a key or token that has only the scope of the endpoint', async () => {
    proves('auth.bearer', 'auth.key.scopes');
    proves('endpoints.bearer');
    proves('scopes.read', 'scopes.send', 'scopes.events', 'scopes.manage');
    proves('service.resources');
    proves('wire.names');
    const answers: string[] = [];
    for (const row of ENDPOINTS) {
      const [key, token] = [false, true].map((oauth) =>
        callers.find(
          (caller) =>
            !caller.revoked &&
            !caller.offList &&
            caller.scopes.join() === row.scope &&
            (caller.oauth ?? false) === oauth,
        ),
      ) as [Caller, Caller];
      const { status } = await ask({ row, caller: key, names: names.own });
      if (row.method !== 'DELETE') {
        const byToken = await ask({ row, caller: token, names: names.own });
        expect([row.path(names.own), byToken.status]).toEqual([row.path(names.own), status]);
      }
      answers.push(`${row.method} ${row.path({ connection: '{id}', message: '{id}' })} ${status}`);
    }
    expect(answers).toEqual([
      'GET /connections 200',
      'GET /account 200',
      'GET /messages?connectionId={id} 200',
      'POST /messages 200',
      'POST /messages/read 200',
      'GET /webhook 200',
      'PUT /webhook 200',
      'POST /webhook/rotate 200',
      'POST /connections 201',
      'GET /connections/{id} 200',
      'POST /connections/{id}/restart 200',
      'POST /connections/{id}/logout 200',
      'POST /connections/{id}/pairing-code 200',
      'DELETE /connections/{id} 200',
    ]);
  });
});
