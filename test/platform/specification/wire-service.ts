import { expect } from 'vitest';
import type { SandboxInfo } from '../../../src/contract/sandbox/info.ts';
import { startTestService } from '../../support/service.ts';

// biome-ignore lint/suspicious/noExplicitAny: answers are looked into by field
export type Json = any;

/** An answer as it came; `body` is null unless it is JSON. */
export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly body: Json;
}

/** The whole service, spoken to over its listeners alone. Virtual time stands still until it is moved. */
export interface WireService {
  readonly info: SandboxInfo;
  /** A call of the control API; fails the test when it is refused. */
  control(method: string, path: string, body?: unknown): Promise<Json>;
  /** As `control`, for what may be refused. */
  tryControl(method: string, path: string, body?: unknown): Promise<Reply>;
  /** A call of the REST API with a bearer token; `at` is another base address than `{base_url}`. */
  api(token: string, method: string, path: string, body?: unknown, at?: string): Promise<Reply>;
  /** Moves virtual time to an instant in epoch milliseconds. */
  moveTo(time: number): Promise<void>;
  advance(ms: number): Promise<void>;
  now(): Promise<number>;
  /** Resolves when nothing that was due is under way. */
  settle(): Promise<void>;
  close(): Promise<void>;
}

/** Sends one request, and follows no redirect. */
export async function request(url: string | URL, init: RequestInit = {}): Promise<Reply> {
  const answer = await fetch(url, { redirect: 'manual', ...init });
  const text = await answer.text();
  const json = /^application\/json/.test(answer.headers.get('content-type') ?? '') && text !== '';
  return { status: answer.status, headers: answer.headers, text, body: json ? JSON.parse(text) : null };
}

/** Sends JSON. */
export function requestJson(
  url: string,
  method: string,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<Reply> {
  if (body === undefined) return request(url, { method, headers });
  const type = { 'content-type': 'application/json' };
  return request(url, { method, headers: { ...type, ...headers }, body: JSON.stringify(body) });
}

/** `200`, or a status with the code of the refusal. */
export function outcomeOf({ status, body }: Reply): string {
  return body?.error === undefined ? `${status}` : `${status} ${body.error}`;
}

export async function startWireService(): Promise<WireService> {
  const started = await startTestService();
  const { info } = started;
  const tryControl = (method: string, path: string, body?: unknown) =>
    requestJson(`${info.sandboxUrl}/sandbox/v1${path}`, method, body);
  const control = async (method: string, path: string, body?: unknown): Promise<Json> => {
    const reply = await tryControl(method, path, body);
    expect(reply.status, `${method} ${path}: ${reply.text}`).toBeLessThan(300);
    return reply.body;
  };
  await control('POST', '/clock/freeze');
  return {
    info,
    control,
    tryControl,
    api: (token, method, path, body, at = info.baseUrl) =>
      requestJson(`${at}${path}`, method, body, { authorization: `Bearer ${token}` }),
    moveTo: async (time) =>
      void (await control('POST', '/clock/advance', { to: new Date(time).toISOString() })),
    advance: async (ms) => void (await control('POST', '/clock/advance', { ms })),
    now: async () => Date.parse((await control('GET', '/clock')).now),
    settle: () => started.service.settle(),
    close: () => started.close(),
  };
}

/** A workspace with connections, as their owner made them. */
export interface Tenant {
  readonly workspaceId: string;
  /** Ids, in the order of the numbers. */
  readonly connectionIds: readonly string[];
  /** The first of them; empty when there is none. */
  readonly first: string;
  /** For everything in it. */
  readonly key: string;
}

export interface TenantOptions {
  readonly kind?: 'standalone' | 'crm_portal';
  readonly provider?: 'qr' | 'cloud_api';
}

/** Makes a workspace with `count` paired connections and an API key. */
export async function addTenant(
  { control }: WireService,
  count = 1,
  { kind = 'standalone', provider = 'qr' }: TenantOptions = {},
): Promise<Tenant> {
  const { id: workspaceId } = (await control('POST', '/workspaces', { kind, slots: 10 })).workspace;
  const connectionIds: string[] = [];
  for (let made = 0; made < count; made += 1) {
    const connection = { provider, phoneNumber: nextNumber(), label: `Line ${made}` };
    connectionIds.push(
      (await control('POST', `/workspaces/${workspaceId}/connections`, connection)).connection.id,
    );
  }
  const { key } = await control('POST', `/workspaces/${workspaceId}/api-keys`);
  return { workspaceId, connectionIds, first: connectionIds[0] ?? '', key };
}

let numbers = 0;
/** A number that no other connection has. */
export function nextNumber(): string {
  numbers += 1;
  return `4470000${String(numbers).padStart(5, '0')}`;
}
