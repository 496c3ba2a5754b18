import { expect } from 'vitest';
import {
  type ConnectionDetail,
  connectionDetailAnswer,
  connectionListAnswer,
  createdConnectionAnswer,
  pairingCodeAnswer,
} from '../../../src/contract/service/connections.ts';
import { ofFile } from '../../support/of-file.ts';
import { startTestPlatform } from '../../support/platform.ts';
import { readQr } from '../../support/read-qr.ts';

const MINUTE = 60_000;

/**
 * A platform for the tests of a file, and its connections as a client and an owner's phone move them; pictures
 * are read by a foreign library.
 */
export function useLife() {
  const service = ofFile(startTestPlatform);

  const advance = (ms: number) => service.platform.time.advance({ ms });
  const phones = () => service.platform.ownerPhones;
  const on = (key: string, method: string, id: string, what = '', body?: unknown) =>
    service.call(method, `/connections/${id}${what}`, { key, ...(body === undefined ? {} : { body }) });

  /** A workspace whose key makes connections, with one that waits to be paired. */
  async function begin(slots = 10) {
    const workspace = await service.platform.workspaces.create({ kind: 'standalone', slots });
    const { key } = await service.platform.apiKeys.create(workspace.id);
    return { workspaceId: workspace.id, key, id: await create(key) };
  }
  async function create(key: string): Promise<string> {
    const answer = await service.call('POST', '/connections', { key });
    return createdConnectionAnswer.parse(answer.body).connection.id;
  }
  async function detail(key: string, id: string): Promise<ConnectionDetail> {
    return connectionDetailAnswer.parse((await on(key, 'GET', id)).body).connection;
  }
  const qrOf = async (key: string, id: string): Promise<string> => readQr((await detail(key, id)).qr).text;
  const codeOf = async (key: string, id: string, phoneNumber = '4915112345678') =>
    pairingCodeAnswer.parse((await on(key, 'POST', id, '/pairing-code', { phoneNumber })).body).code;
  async function pair(key: string, id: string, phoneNumber?: string) {
    expect(await phones().scan(id, await qrOf(key, id), phoneNumber)).toBe('paired');
  }
  const account = async (key: string) => (await service.call('GET', '/account', { key })).body;
  async function listed(key: string) {
    const { body } = await service.call('GET', '/connections', { key });
    return connectionListAnswer.parse(body).connections;
  }
  async function toldOf(id: string) {
    const entries = await service.platform.ledger.read({}, 1_000_000);
    return entries.filter((entry) => entry.connectionId === id && entry.event.startsWith('connection.'));
  }
  /** The types of what was told of a connection, oldest first. */
  const eventsOf = async (id: string) => (await toldOf(id)).map(({ event }) => event);
  async function warmupOf(id: string): Promise<number | null | undefined> {
    const rows = await service.database.query<{ until: number | null }>(
      'SELECT warmup_until AS until FROM platform.connections WHERE id = $1',
      [id],
    );
    return rows[0]?.until;
  }
  async function answers(call: ReturnType<typeof on>) {
    const { status, body } = await call;
    return [status, body];
  }
  /** Broken and found, so that it was told. */
  async function breakDown(id: string) {
    await service.platform.outages.begin(id, { cause: 'session_lost' });
    await advance(5 * MINUTE);
  }

  return {
    get service() {
      return service;
    },
    advance,
    phones,
    on,
    begin,
    create,
    detail,
    qrOf,
    codeOf,
    pair,
    account,
    listed,
    toldOf,
    eventsOf,
    warmupOf,
    answers,
    breakDown,
  };
}
