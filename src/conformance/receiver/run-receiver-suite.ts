import { createReport, type Report } from '../report/report.ts';
import { Violation } from '../runner/check.ts';
import type { Clock } from '../runner/clock.ts';
import type { Exchange } from '../runner/exchange.ts';
import { type CheckResult, runChecks } from '../runner/run-checks.ts';
import { deliveryChecks } from './checks/delivery.ts';
import { effectChecks } from './checks/effects.ts';
import { payloadChecks } from './checks/payload.ts';
import { signatureChecks } from './checks/signature.ts';
import { createContext, type ReceiverInputs } from './context.ts';
import { findLock, type ReceiverCheck, type Tier } from './receiver-check.ts';

/** Every check of a receiver, in the order in which they run. */
export const RECEIVER_CHECKS: readonly ReceiverCheck[] = [
  ...payloadChecks,
  ...signatureChecks,
  ...deliveryChecks,
  ...effectChecks,
];

export interface ReceiverSuiteOptions {
  readonly inputs: ReceiverInputs;
  readonly tiers: readonly Tier[];
  /** Runs only checks whose ids start with one of these; default: all. */
  readonly only?: readonly string[] | undefined;
  readonly clock: Clock;
  /** Ends the run after the check that it interrupts. */
  readonly signal: AbortSignal;
  readonly onResult?: (result: CheckResult) => void;
}

const TIMEOUT_MS = 15_000;

/** The checks of these levels that `only` selects. */
export function selectChecks(tiers: readonly Tier[], only?: readonly string[]): readonly ReceiverCheck[] {
  return RECEIVER_CHECKS.filter(
    ({ id, tier }) => tiers.includes(tier) && (only?.some((prefix) => id.startsWith(prefix)) ?? true),
  );
}

/** There is no receiver at the address; nothing was checked. */
export class NoReceiver extends Error {
  override readonly name = 'NoReceiver';
}

/**
 * Checks a receiver by what it answers and, if it is observed, by what it makes of it.
 * @throws NoReceiver if nothing answers at the address
 */
export async function runReceiverSuite(options: ReceiverSuiteOptions): Promise<Report> {
  const { inputs, clock, signal, tiers, only } = options;
  const context = createContext(inputs, clock);
  const startedAt = new Date(clock.now()).toISOString();
  const began = clock.elapsed();
  context.journal.begin(signal, () => undefined);
  await context.deliver({ body: '', method: 'GET', headers: () => [], as: 'GET' }).catch((error: unknown) => {
    const why = error instanceof Violation ? error.actual : String(error);
    throw new NoReceiver(
      `${inputs.url} does not answer (${why}). Is the receiver running, and is this its address?`,
    );
  });
  const checks = selectChecks(tiers, only);
  const results = await runChecks({
    checks,
    context,
    journal: context.journal,
    secrets: context.secrets,
    clock,
    timeoutMs: TIMEOUT_MS,
    signal,
    unexpected: 'harness',
    showsBytes: true,
    repeat: (_, exchange) => exchange && writeCurl(inputs.url, exchange),
    findLock: (check) => findLock(check as ReceiverCheck, inputs),
    ...(options.onResult === undefined ? {} : { onResult: options.onResult }),
  });
  return createReport(
    {
      suite: 'receiver',
      target: inputs.url,
      profile: inputs.profile.name,
      startedAt,
      ms: Math.round(clock.elapsed() - began),
      notRun: checks.slice(results.length).map(({ id }) => id),
      leftBehind: [],
      results,
    },
    { demandsAll: true },
  );
}

/** A text as one word of a shell. */
export function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** A `curl` that repeats a request; its signature is valid for 5 minutes. */
export function writeCurl(url: string, { method, requestHeaders, requestBody = '' }: Exchange): string {
  const headers = Object.entries(requestHeaders).flatMap(([name, value]) =>
    value.split(' | ').map((one) => `-H ${quote(`${name}: ${one}`)}`),
  );
  const [, left] = /… \((\d+) bytes\)$/.exec(requestBody) ?? [];
  return [
    'curl -i',
    method === 'HEAD' ? '-I' : `-X ${method}`,
    ...headers,
    ...(requestBody === '' || left !== undefined ? [] : [`--data-binary ${quote(requestBody)}`]),
    quote(url),
    ...(left === undefined ? [] : [`# its body of ${left} bytes is left out`]),
  ].join(' ');
}
