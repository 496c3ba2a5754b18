import type { Report } from '../../certify/src/report/report.ts';
import { Skip } from '../../certify/src/runner/check.ts';
import { runSuite, type SuiteRun, selectById } from '../../certify/src/suite/run-suite.ts';
import { createContext, type ServiceContext } from './service/context.ts';
import type { ServiceInputs } from './service/inputs.ts';
import { nameAnswer } from './service/judge.ts';
import { findLock, type ServiceCheck } from './service/service-check.ts';
import type { WebhookListener } from './service/webhook-listener.ts';
import { SERVICE_CHECKS } from './suite.ts';

/** After an interruption, what was created is still removed. */
export interface ServiceSuiteOptions extends SuiteRun {
  readonly inputs: ServiceInputs;
  /** The listener for deliveries to `webhookUrl`. */
  readonly listener?: WebhookListener | undefined;
  /** Timeout of a check, in milliseconds; checks that send have a longer one. */
  readonly timeoutMs: number;
  /** Minimum time between two requests, in milliseconds. */
  readonly paceMs: number;
  /** How long to wait for a delivery, in milliseconds; defaults to a minute. */
  readonly arrivesMs?: number;
  readonly onStart?: (check: ServiceCheck) => void;
}

/** The service cannot be called with these inputs; nothing was checked. */
export class UnreachableError extends Error {
  override readonly name = 'UnreachableError';
}

const CLEAN_UP_MS = 30_000;
const ARRIVES_MS = 60_000;

export function selectChecks(only: readonly string[] | undefined): readonly ServiceCheck[] {
  return selectById(SERVICE_CHECKS, only);
}

/**
 * Checks an implementation of the service over its public API.
 * @throws UnreachableError if there is no service at the address, or it rejects the key
 */
export async function runServiceSuite(options: ServiceSuiteOptions): Promise<Report> {
  const { inputs, clock, signal, timeoutMs } = options;
  const { listener, paceMs, arrivesMs = ARRIVES_MS } = options;
  const context = createContext({ inputs, clock, listener, paceMs, arrivesMs });
  await demandReachable(context, timeoutMs, signal);
  return await runSuite(options, {
    about: { suite: 'service', target: inputs.baseUrl, profile: inputs.profile },
    checks: selectChecks(options.only),
    context,
    timeoutMs,
    findLock: (check) => findLock(check, inputs),
    onStart: options.onStart,
    cleanUp: () => cleanUp(context),
  });
}

async function demandReachable(context: ServiceContext, limitMs: number, signal: AbortSignal): Promise<void> {
  const { clock, inputs, journal, api, secrets } = context;
  const late = new AbortController();
  const cancel = clock.after(limitMs, () => late.abort(new Error('no response in time')), {
    keepAlive: true,
  });
  journal.begin(AbortSignal.any([late.signal, signal]), () => undefined);
  try {
    const exchange = await api.request('GET', '/connections');
    if (exchange.status === 401) throw new Error(`it rejected the key: ${nameAnswer(exchange)}`);
    if (exchange.status === 404 || exchange.json === undefined) {
      throw new UnreachableError(
        `${inputs.baseUrl}: no service here (GET /connections returned ${nameAnswer(exchange)}); does --base-url end in /api/v1?`,
      );
    }
  } catch (error) {
    // A key without that scope, or a busy service, can still be checked.
    if (error instanceof Skip) return;
    if (error instanceof UnreachableError) throw new UnreachableError(secrets.hide(error.message));
    const why = error instanceof Error ? error.message : String(error);
    throw new UnreachableError(secrets.hide(`${inputs.baseUrl} cannot be checked: ${why}.`));
  } finally {
    cancel();
  }
}

/** Removes what was created, even after an interruption. */
async function cleanUp(context: ServiceContext): Promise<readonly string[]> {
  const late = new AbortController();
  const cancel = context.clock.after(CLEAN_UP_MS, () => late.abort(new Error('the clean-up took too long')), {
    keepAlive: true,
  });
  context.journal.begin(late.signal, () => undefined);
  try {
    return await context.cleanUp();
  } finally {
    cancel();
  }
}
