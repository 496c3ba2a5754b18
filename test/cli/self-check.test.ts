import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { checkLoop } from '../../src/cli/self-check.ts';
import type { SandboxInfo } from '../../src/contract/sandbox/info.ts';
import { ManualClock } from '../support/manual-clock.ts';

/** Plays sandbox and connector at once: each message appears in the feed by the next lane of the script. */
describe('the self-check', () => {
  let lanes: string[];
  let faults: string[];
  let writes: number;
  let told: string[];
  let mirrored: { id: string; provider: string; health: string }[];
  let server: Server;
  let info: SandboxInfo;

  beforeEach(async () => {
    lanes = [];
    faults = [];
    writes = 0;
    told = [];
    mirrored = [{ id: 'c1', provider: 'qr', health: 'working' }];
    server = createServer((request, response) => {
      const path = new URL(request.url ?? '', 'http://local').pathname;
      const json = (body: unknown): void => void response.end(JSON.stringify(body));
      if (path === '/v1/connections') json({ connections: mirrored });
      else if (path === '/v1/changes') json({ nextCursor: String(writes) });
      else if (path === '/v1/sync') json({});
      else if (path === '/v1/changes/stream') response.end(`data: ${JSON.stringify(nextArrival())}\n\n`);
      else if (path === '/sandbox/v1/faults') {
        faults.push(request.method ?? '');
        json({ rules: [] });
      } else {
        writes += 1;
        request.on('data', (body: Buffer) => told.push(JSON.parse(String(body)).connectionId));
        json({ messageId: `m${writes}` });
      }
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    info = { sandboxUrl: url, connectorUrl: url, connectorToken: 'token' } as SandboxInfo;
  });

  afterEach(() => {
    server.close();
    server.closeAllConnections();
  });

  function nextArrival(): unknown {
    return { type: 'message.created', messageId: `m${writes}`, data: { firstSeenBy: lanes.shift() } };
  }

  it('sends one message by webhook and one past it, and leaves no fault', async () => {
    lanes = ['webhook', 'poll'];
    expect(await checkLoop(info, new ManualClock())).toEqual({ webhookMs: 0, repairMs: 0 });
    expect(writes).toBe(2);
    expect(faults).toEqual(['PUT', 'DELETE']);
  });

  it('sends another one when a poll happened to be quicker than the webhook', async () => {
    lanes = ['poll', 'poll', 'webhook', 'poll'];
    await checkLoop(info, new ManualClock());
    expect(writes).toBe(4);
  });

  it('fails when no webhook arrives, however often it is tried', async () => {
    lanes = ['poll', 'poll', 'poll', 'poll', 'poll', 'poll'];
    await expect(checkLoop(info, new ManualClock())).rejects.toThrow(
      'a message came by poll, but should have come by webhook',
    );
  });

  it('fails when a dropped webhook arrives all the same, and leaves no fault', async () => {
    lanes = ['webhook', 'webhook'];
    await expect(checkLoop(info, new ManualClock())).rejects.toThrow('should have come by poll');
    expect(faults).toEqual(['PUT', 'DELETE']);
  });

  it('passes by numbers that wait for a scan, and is left out when no other is there', async () => {
    mirrored = [
      { id: 'c0', provider: 'qr', health: 'connecting' },
      { id: 'c9', provider: 'cloud_api', health: 'working' },
    ];
    expect(await checkLoop(info, new ManualClock())).toBeNull();
    expect(writes).toBe(0);
    mirrored.push({ id: 'c1', provider: 'qr', health: 'working' });
    lanes = ['webhook', 'poll'];
    expect(await checkLoop(info, new ManualClock())).not.toBeNull();
    expect(told).toEqual(['c1', 'c1']);
  });

  it('says which call was refused', async () => {
    server.removeAllListeners('request');
    server.on('request', (_request, response) => response.writeHead(503).end('{"error":"unavailable"}'));
    await expect(checkLoop(info, new ManualClock())).rejects.toThrow(
      /POST .*\/v1\/sync answered 503: .*unavailable/,
    );
  });
});
