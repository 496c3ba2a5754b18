import type { Clock } from '../../../../src/runtime/clock/clock.ts';
import { Skip, Violation } from '../runner/check.ts';
import type { Exchange } from '../runner/exchange.ts';
import { createHttpClient } from '../runner/http-client.ts';
import { createJournal, type Journal } from '../runner/journal.ts';
import type { Observer } from '../runner/observer.ts';
import { createOnce, type Once } from '../runner/once.ts';
import { createSecretBook, type SecretBook } from '../runner/secret-book.ts';

type Fields = Readonly<Record<string, unknown>>;

/** What the suite is given. Checks that need an absent input are not asked for. */
export interface IntegrationInputs {
  /** The sandbox that the integration talks to, without `/sandbox/v1` and without a trailing slash. */
  readonly sandboxUrl: string;
  /** The workspace of the integration; default: the one that the sandbox starts with. */
  readonly workspaceId?: string | undefined;
  /** Has the integration send a text; resolves once the request was made. */
  readonly send?: ((send: { readonly to: string; readonly text: string }) => Promise<void>) | undefined;
  /** Has the integration create a connection and show its QR code; resolves once the request was made. */
  readonly pair?: (() => Promise<void>) | undefined;
  /** Tells which messages the integration has stored. */
  readonly observer?: Observer | undefined;
  /** True if the integration uses OAuth. */
  readonly oauth?: boolean;
  /** True also runs checks that take minutes. */
  readonly patient?: boolean;
}

/** A call of the integration, as the sandbox recorded it. */
export interface RecordedCall {
  readonly id: string;
  /** Epoch milliseconds, in virtual time. */
  readonly at: number;
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly connectionId: string | undefined;
  readonly body: string | undefined;
  /** Null if the connection was reset. */
  readonly status: number | null;
}

/** What every check of an integration can use. */
export interface IntegrationContext {
  readonly inputs: IntegrationInputs;
  readonly clock: Clock;
  readonly journal: Journal;
  readonly secrets: SecretBook;
  readonly once: Once;
  readonly workspaceId: string;
  /** Calls the control API. Throws for any response but a 2xx. */
  control(method: string, path: string, body?: unknown): Promise<Exchange>;
  /** Has these faults be the only ones. Rules apply to the workspace of the integration. */
  fault(rule: {
    readonly match: object;
    readonly action: object;
    readonly first?: number;
    readonly per?: 'event';
  }): Promise<void>;
  /** Marks this moment in the list of calls. */
  mark(): Promise<Mark>;
  /** Waits `ms` milliseconds. */
  sleep(ms: number): Promise<void>;
  /** A phone number that no check has used. */
  newPhone(): string;
  /** The connections of the workspace. */
  connections(): Promise<readonly Fields[]>;
  /** A live and licensed connection of the workspace, which emits events if its kind is `qr`. @throws Skip if there is none */
  connection(provider?: 'qr'): Promise<string>;
  /** Has the integration send a text to a new number, which the result names. */
  send(text?: string): Promise<string>;
}

/** The calls since a moment. */
export interface Mark {
  /** The same without calls whose body is known and does not contain this text. */
  about(text: string): Mark;
  /** Calls to this path until now, oldest first; it may end in `*`. */
  calls(method: string, path: string): Promise<readonly RecordedCall[]>;
  /** The calls as soon as `holds`; undefined if it does not within `ms`. */
  until(
    method: string,
    path: string,
    holds: (calls: readonly RecordedCall[]) => boolean | Promise<boolean>,
    ms: number,
  ): Promise<readonly RecordedCall[] | undefined>;
}

/** The sandbox cannot be used; nothing was checked. */
export class NoSandbox extends Error {
  override readonly name = 'NoSandbox';
}

const LOOK_MS = 3_000;
const LONGEST_PAGE = 1_000;
/** A look mostly finds a few new calls. */
const CALLS_PAGE = 50;

export function entriesOf({ json }: Exchange): readonly Fields[] {
  const { entries } = (json ?? {}) as { entries?: readonly Fields[] };
  if (entries === undefined) throw new NoSandbox('the sandbox returned no list');
  return entries;
}

function fits(path: string, pattern: string): boolean {
  return pattern.endsWith('*') ? path.startsWith(pattern.slice(0, -1)) : path === pattern;
}

/** @throws NoSandbox if no sandbox answers at the address */
export async function createContext(
  inputs: IntegrationInputs,
  clock: Clock,
  signal: AbortSignal,
): Promise<IntegrationContext> {
  const journal = createJournal();
  const secrets = createSecretBook();
  const baseUrl = `${inputs.sandboxUrl}/sandbox/v1`;
  const client = createHttpClient({ baseUrl, as: 'sandbox', clock, journal, pace: async () => undefined });
  journal.begin(signal, () => undefined);

  const control = async (method: string, path: string, body?: unknown): Promise<Exchange> => {
    const exchange = await client.request(method, path, body === undefined ? {} : { body });
    if (exchange.status >= 300) {
      throw new Error(
        `the sandbox answered ${exchange.status} to ${method} ${path}: ${exchange.text.slice(0, 200)}`,
      );
    }
    return exchange;
  };

  const refuse = (why: string): never => {
    throw new NoSandbox(`${inputs.sandboxUrl} is not a sandbox (${why}). Start one with npm run platform.`);
  };
  const info = await control('GET', '/info').catch((error: unknown) =>
    refuse(error instanceof Error ? error.message : String(error)),
  );
  const { workspaceId: first, apiKey } = Object(info.json) as { workspaceId: string; apiKey?: string };
  if (apiKey === undefined) return refuse('it names no API key');
  secrets.add(apiKey, 'API key');
  const workspaceId = inputs.workspaceId ?? first;
  const numbers = { next: clock.now() % 1_000_000 };

  /** The calls after one, oldest first. Those of an OAuth client belong to no workspace. */
  async function readCalls(after: number): Promise<readonly RecordedCall[]> {
    const newer: Fields[] = [];
    let query = `limit=${CALLS_PAGE}`;
    for (;;) {
      const page = await control('GET', `/calls?${query}`);
      const calls = entriesOf(page);
      newer.push(...calls.filter((call) => Number(call['id']) > after));
      const { nextCursor } = page.json as Fields;
      if (nextCursor === undefined || Number(calls.at(-1)?.['id']) <= after) break;
      query = `limit=${CALLS_PAGE}&cursor=${nextCursor}`;
    }
    return newer
      .filter((call) => call['workspaceId'] === workspaceId || String(call['path']).startsWith('/oauth/'))
      .map((call) => ({
        id: String(call['id']),
        at: Date.parse(String(call['at'])),
        method: String(call['method']),
        path: String(call['path']),
        query: String(call['query'] ?? ''),
        connectionId: call['connectionId'] as string | undefined,
        body: call['requestBody'] as string | undefined,
        status: call['status'] as number | null,
      }))
      .reverse();
  }

  const markAfter = (after: number, about = ''): Mark => {
    const calls: Mark['calls'] = async (method, path) =>
      (await readCalls(after)).filter(
        ({ body = about, ...call }) =>
          call.method === method && fits(call.path, path) && body.includes(about),
      );
    return {
      calls,
      about: (text) => markAfter(after, text),
      async until(method, path, holds, ms) {
        const end = clock.elapsed() + ms;
        for (;;) {
          const found = await calls(method, path);
          if (await holds(found)) return found;
          if (clock.elapsed() >= end) return undefined;
          await context.sleep(Math.min(LOOK_MS, end - clock.elapsed()));
        }
      },
    };
  };

  const context: IntegrationContext = {
    inputs,
    clock,
    journal,
    secrets,
    once: createOnce(),
    workspaceId,
    control,
    sleep: (ms) => clock.sleep(ms, journal.current().signal),
    async fault({ match, ...rule }) {
      const scope = (match as { surface: string }).surface === 'oauth' ? {} : { workspaceId };
      const rules = [{ id: 'certify', match: { ...match, ...scope }, ...rule }];
      await control('PUT', '/faults', { rules });
    },
    async mark() {
      const newest = entriesOf(await control('GET', '/calls?limit=1'))[0];
      return markAfter(newest === undefined ? -1 : Number(newest['id']));
    },
    newPhone() {
      numbers.next += 1;
      return `4478${String(numbers.next).padStart(8, '0').slice(-8)}`;
    },
    connections: async () =>
      entriesOf(await control('GET', `/connections?workspaceId=${workspaceId}&limit=${LONGEST_PAGE}`)),
    async connection(provider) {
      const live = (await context.connections()).filter(
        (one) =>
          (provider ?? one['provider']) === one['provider'] &&
          one['status'] === 'connected' &&
          one['needsReconnect'] === false,
      );
      const licensed = live.find(({ licenseStatus }) => /^(?:active|trial)$/.test(String(licenseStatus)));
      if (licensed !== undefined) return String(licensed['id']);
      const [{ id, licenseStatus, licenseExpires } = {}] = live;
      if (id === undefined)
        throw new Skip(`the workspace has no live connection${provider ? ` of the kind ${provider}` : ''}`);
      throw new Skip(
        `the license of connection ${id} is ${licenseStatus} (until ${licenseExpires}; a trial lasts 7 days), so it sends nothing and emits no events. Set one: PUT ${baseUrl}/connections/${id}/licence with {"status":"active","expiresAt":"…"}`,
      );
    },
    async send(text = 'Certify') {
      await context.connection();
      const to = context.newPhone();
      await inputs.send?.({ to, text });
      return to;
    },
  };
  return context;
}

/** @throws Violation with the calls as evidence, and with a hint if they show more than that the rule is violated */
export function violate(
  expected: string,
  actual: string,
  calls: readonly RecordedCall[] = [],
  hint?: string,
): never {
  const [first] = calls;
  const shown = calls
    .map(({ at, status, method, path }) => {
      const seconds = ((at - (first?.at ?? at)) / 1_000).toFixed(1);
      return `${seconds} s ${method} ${path} ${status ?? 'reset'}`;
    })
    .slice(0, 10);
  const found = shown.length === 0 ? actual : `${actual} (${shown.join(', ')})`;
  throw new Violation(expected, found, undefined, hint);
}
