import { readFile } from 'node:fs/promises';
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/runtime/clock/system-clock.ts';
import { startCampaign } from '../support/campaign.ts';
import { HAPROXY_MISSING, startTestProxy } from '../support/haproxy.ts';
import { type HostileClients, startHostileClients } from '../support/hostile-clients.ts';
import { printTable } from '../support/print-table.ts';

const WHOLE = process.env['CAMPAIGN'] === 'whole';
const PACE = { burst: 2, everyMs: 100 };
const BEFORE_MS = 500;
/** How long the clients stay. */
const STAY_MS = WHOLE ? 30_000 : 2_000;
const SAMPLE_MS = 100;
const MIB = 1024 * 1024;
/**
 * The resident memory that the clients may take of a process, and that it may have when they are gone: V8 and the
 * allocator keep up to 410 MiB of what it once needed, although it uses 50 of them.
 */
const TAKEN_MIB = 300;
const KEPT_MIB = 460;

const ELSEWHERE = '127.0.0.2';
/** Without a proxy, these may keep others out: those of 200 addresses, and those of the sender's own address. */
const ANYWHERE = '127.0.1.*';
const SAME = '127.0.0.1';
const SOCKETS = 4_300;
const BODIES = WHOLE ? 3_000 : 1_000;

type Kind = Omit<HostileClients, 'port' | 'token'> & {
  readonly name: string;
  /** Skipped in the short campaign. */
  readonly long?: boolean;
};
const KINDS: readonly Kind[] = [
  { name: `${SOCKETS} silent sockets`, kind: 'silent', count: SOCKETS, from: ELSEWHERE, long: true },
  { name: `${SOCKETS} silent sockets of 200 addresses`, kind: 'silent', count: SOCKETS, from: ANYWHERE },
  { name: `${SOCKETS} idle sockets`, kind: 'idle', count: SOCKETS, from: ELSEWHERE, long: true },
  { name: `${SOCKETS} idle sockets of the sender's address`, kind: 'idle', count: SOCKETS, from: SAME },
  {
    name: `${BODIES} unsigned bodies of 1 MiB`,
    kind: 'unsigned',
    count: BODIES,
    from: ELSEWHERE,
    long: true,
  },
  { name: `${BODIES} forged bodies of 1 MiB`, kind: 'forged', count: BODIES, from: ELSEWHERE },
  { name: '300 pipelined GET /metrics', kind: 'metrics', count: 300, from: ELSEWHERE },
  { name: '300 pipelined GET /readyz', kind: 'readyz', count: 300, from: ELSEWHERE, long: true },
  { name: '1,000 slow headers', kind: 'slowHeaders', count: 1_000, from: ELSEWHERE, long: true },
  { name: '4,096 slow bodies', kind: 'slowBodies', count: 4_096, from: ELSEWHERE },
  { name: '500 bodies in chunks of a byte', kind: 'crumbs', count: 500, from: ELSEWHERE },
  { name: '500 of them for no path', kind: 'strayCrumbs', count: 500, from: ELSEWHERE, long: true },
  { name: '2 bodies of 16 MiB of brackets', kind: 'brackets', count: 2, from: ELSEWHERE },
];

/** Each kind goes through the shipped proxy, and those of one other address directly to the process as well. */
const ATTACKS = KINDS.filter(({ long }) => WHOLE || !long).flatMap((kind) => [
  ...(HAPROXY_MISSING === undefined ? [{ ...kind, proxied: true }] : []),
  ...(kind.from === ELSEWHERE ? [{ ...kind, proxied: false }] : []),
]);

test('hostile clients cost no delivery, and the process releases the memory that they took', async () => {
  // A new connection for each delivery: an open one does not prove that another can be opened.
  const campaign = await startCampaign({
    processes: 1,
    spares: 0,
    connections: 200,
    keepAlive: false,
    env: { CONNECTOR_TRUSTED_PROXIES: '127.0.0.1' },
    targets: () => [`http://127.0.0.1:${port}/webhooks/messaging`],
  });
  const [connector] = campaign.connectors;
  const memory = (): Promise<number> => readMemory(connector?.pid);
  const proxy = HAPROXY_MISSING === undefined ? await startTestProxy([campaign.url]) : undefined;
  onTestFinished(async () => void (await proxy?.stop()));
  const portOf = (url: string): number => Number(new URL(url).port);
  let port = portOf(campaign.url);
  // The process has allocated what a busy one needs.
  await campaign.underLoad(1, PACE, () => systemClock.sleep(2_000));
  const idle = await memory();

  const rows = [];
  for (const [index, { name, proxied, ...what }] of ATTACKS.entries()) {
    port = portOf(proxied && proxy !== undefined ? proxy.url : campaign.url);
    const first = campaign.sender.sent.length;
    let peak = 0;
    const row = await campaign.underLoad(index + 2, PACE, async () => {
      await systemClock.sleep(BEFORE_MS);
      const clients = await startHostileClients({ ...what, port, token: campaign.token });
      for (let passed = 0; passed < STAY_MS; passed += SAMPLE_MS) {
        await systemClock.sleep(SAMPLE_MS);
        peak = Math.max(peak, await memory());
      }
      const { answers, refused } = await clients.report();
      await clients.leave();
      return {
        clients: proxied ? `${name}, proxied` : name,
        answered: JSON.stringify(answers),
        cutOff: refused,
      };
    });
    const sent = campaign.sender.sent.slice(first);
    const times = sent.flatMap(({ attempts }) => attempts.map(({ ms }) => ms)).sort((a, b) => a - b);
    const at = (share: number): number => Math.round(times[Math.floor(times.length * share)] ?? 0);
    rows.push({
      ...row,
      sent: sent.length,
      accepted: sent.filter(({ acknowledged }) => acknowledged).length,
      repeated: sent.filter(({ attempts }) => attempts.length > 1).length,
      p50Ms: at(0.5),
      p99Ms: at(0.99),
      peakMiB: peak,
    });
  }
  const left = await memory();
  const pid = connector?.pid ?? 0;
  const inUse = async (): Promise<number> => {
    process.kill(pid, 'SIGUSR2');
    return await memory();
  };
  printTable(rows);
  printTable([{ idleMiB: idle, leftMiB: left }]);
  for (const { clients, sent, accepted, peakMiB } of rows) {
    expect.soft({ clients, accepted }).toEqual({ clients, accepted: sent });
    expect.soft(peakMiB - idle, clients).toBeLessThan(TAKEN_MIB);
  }
  await expect.poll(inUse, { interval: 500 }).toBeLessThan(KEPT_MIB);
  await campaign.catchUp();
  expect(await campaign.findViolations()).toEqual([]);
});

/** The resident memory of a process, in MiB (Linux only). */
async function readMemory(pid: number | undefined): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  const [, kib = '0'] = /^VmRSS:\s+(\d+) kB$/m.exec(status) ?? [];
  return Math.round((Number(kib) * 1024) / MIB);
}
