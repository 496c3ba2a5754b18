import type { Clock } from '../../../../src/runtime/clock/clock.ts';
import { Skip } from '../../../certify/src/runner/check.ts';
import type { Exchange } from '../../../certify/src/runner/exchange.ts';
import { createHttpClient, createPace, type HttpClient } from '../../../certify/src/runner/http-client.ts';
import { createJournal, type Journal } from '../../../certify/src/runner/journal.ts';
import { createOnce, type Once } from '../../../certify/src/runner/once.ts';
import { createSecretBook, type SecretBook } from '../../../certify/src/runner/secret-book.ts';
import type { ServiceInputs } from './inputs.ts';
import { codeOf, isObject } from './judge.ts';
import type { WebhookListener } from './webhook-listener.ts';

/** What every check of the service can use. */
export interface ServiceContext {
  readonly inputs: ServiceInputs;
  readonly clock: Clock;
  readonly journal: Journal;
  readonly secrets: SecretBook;
  readonly once: Once;
  /** With the key of the run. A missing scope of that key is a `Skip`, not a response. */
  readonly api: HttpClient;
  /** With any credential, or with none. */
  clientFor(credential: Credential): HttpClient;
  /** How long to wait for a delivery, in milliseconds. */
  readonly arrivesMs: number;
  /** The listener for deliveries. @throws Skip if there is none */
  listener(): WebhookListener;
  /** Registers a clean-up step; the last one runs first. */
  onCleanUp(undo: () => Promise<unknown>): void;
  /** Runs all clean-up steps; returns what could not be removed. */
  cleanUp(): Promise<readonly string[]>;
}

export interface Credential {
  /** Description of the credential. */
  readonly as: string;
  readonly authorization?: string;
  readonly baseUrl?: string;
}

export interface ContextOptions {
  readonly inputs: ServiceInputs;
  readonly clock: Clock;
  readonly listener: WebhookListener | undefined;
  /** Minimum time between two requests. */
  readonly paceMs: number;
  readonly arrivesMs: number;
}

export function createContext(options: ContextOptions): ServiceContext {
  const { inputs, clock, listener } = options;
  const journal = createJournal();
  const secrets = createSecretBook();
  const keys: Readonly<Record<string, string | undefined>> = {
    'API key': inputs.apiKey,
    'second API key': inputs.secondApiKey,
    'narrow API key': inputs.narrowApiKey,
    'barred API key': inputs.barredApiKey,
    'portal API key': inputs.portalApiKey,
    'client secret': inputs.oauthApp?.clientSecret,
    'refresh token': inputs.oauthRefreshToken,
  };
  for (const [name, key] of Object.entries(keys)) if (key !== undefined) secrets.add(key, name);
  const pace = createPace(clock, options.paceMs);
  const once = createOnce();
  const undos: (() => Promise<unknown>)[] = [];

  // Evidence, but not among the exchanges that the rules of the REST API are checked for.
  const besideRest: Journal = {
    ...journal,
    current: () => ({ ...journal.current(), see: journal.recall }),
  };
  const isRest = (baseUrl: string): boolean => [inputs.baseUrl, inputs.legacyBaseUrl].includes(baseUrl);
  const clientFor = ({ baseUrl = inputs.baseUrl, ...credential }: Credential): HttpClient =>
    createHttpClient({
      // An issuer or a tool server may end in a slash, and paths start with one.
      baseUrl: baseUrl.replace(/\/+$/, ''),
      clock,
      journal: isRest(baseUrl) ? journal : besideRest,
      pace,
      ...credential,
    });
  const plain = clientFor({ as: 'API key', authorization: `Bearer ${inputs.apiKey}` });

  return {
    inputs,
    clock,
    journal,
    secrets,
    // The exchanges that a check inspects are its evidence, whoever made the requests.
    async once(what, make) {
      const made = await once(what, make);
      const exchange = exchangeIn(made);
      if (exchange !== undefined) journal.recall(exchange);
      return made;
    },
    api: demandingScopes(plain, 'the API key'),
    clientFor,
    arrivesMs: options.arrivesMs,
    listener() {
      if (listener === undefined)
        throw new Skip('no listener for deliveries is configured', '--webhook-listen');
      return listener;
    },
    onCleanUp: (undo) => void undos.push(undo),
    async cleanUp() {
      const left: string[] = [];
      for (let undo = undos.pop(); undo !== undefined; undo = undos.pop()) {
        try {
          await undo();
        } catch (error) {
          left.push(secrets.hide(error instanceof Error ? error.message : String(error)));
        }
      }
      return left;
    },
  };
}

/** A missing scope of the key is a `Skip`, not a response: it shows nothing but that. */
function demandingScopes(client: HttpClient, key: string): HttpClient {
  return {
    async request(method, path, request) {
      const exchange = await client.request(method, path, request);
      if (exchange.status === 403 && codeOf(exchange) === 'insufficient_scope') {
        throw new Skip(`${key} lacks the scope for ${method} ${path.split('?')[0]}`);
      }
      return exchange;
    },
  };
}

function exchangeIn(made: unknown): Exchange | undefined {
  if (!isObject(made)) return undefined;
  const found = isObject(made['exchange']) ? made['exchange'] : made;
  return 'requestHeaders' in found ? (found as unknown as Exchange) : undefined;
}

/** The key of the other workspace. Checks that use it need `second-key`. If it is invalid or lacks a scope, they `Skip`. */
export function secondWorkspace(context: ServiceContext): HttpClient {
  const authorization = `Bearer ${context.inputs.secondApiKey ?? ''}`;
  const client = context.clientFor({ as: 'key of another workspace', authorization });
  const demanding = demandingScopes(client, 'the key of another workspace');
  return {
    async request(method, path, request) {
      const exchange = await demanding.request(method, path, request);
      if (codeOf(exchange) === 'invalid_key') throw new Skip('--second-api-key is refused: 401 invalid_key');
      return exchange;
    },
  };
}

/** The key with fewer scopes. Checks that use it need `narrow-key`. */
export function narrowKey(context: ServiceContext): HttpClient {
  const authorization = `Bearer ${context.inputs.narrowApiKey ?? ''}`;
  return context.clientFor({ as: 'narrow key', authorization });
}
