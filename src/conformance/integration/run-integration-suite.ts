import { createReport, type Report } from '../report/report.ts';
import type { Clock } from '../runner/clock.ts';
import { type CheckResult, runChecks } from '../runner/run-checks.ts';
import { pollChecks } from './checks/polls.ts';
import { refusedKeyChecks, sendChecks } from './checks/sends.ts';
import { sessionChecks } from './checks/sessions.ts';
import { createContext, type IntegrationContext, type IntegrationInputs } from './context.ts';
import { findLock, type IntegrationCheck } from './integration-check.ts';

/** Every check of an integration, in the order in which they run. */
export const INTEGRATION_CHECKS: readonly IntegrationCheck[] = [
  ...pollChecks,
  ...sendChecks,
  ...sessionChecks,
  ...refusedKeyChecks,
];

export interface IntegrationSuiteOptions {
  readonly inputs: IntegrationInputs;
  /** Runs only checks whose ids start with one of these; default: all. */
  readonly only?: readonly string[] | undefined;
  readonly clock: Clock;
  /** Ends the run after the check that it interrupts. */
  readonly signal: AbortSignal;
  /** The command that runs one check. */
  readonly repeat?: (id: string) => string;
  readonly onResult?: (result: CheckResult) => void;
}

const TIMEOUT_MS = 150_000;

/** The checks that `only` selects. */
export function selectIntegrationChecks(only?: readonly string[]): readonly IntegrationCheck[] {
  return INTEGRATION_CHECKS.filter(({ id }) => only?.some((prefix) => id.startsWith(prefix)) ?? true);
}

/** A check after which the sandbox has no faults. */
function withoutTraces(check: IntegrationCheck): IntegrationCheck {
  return {
    ...check,
    async run(context: IntegrationContext, probe) {
      try {
        await check.run(context, probe);
      } finally {
        if (!probe.signal.aborted) await context.control('DELETE', '/faults');
      }
    },
  };
}

/**
 * Checks an integration by what the sandbox sees of it: its calls, and what arrives on phones.
 * @throws NoSandbox if there is no sandbox at the address
 */
export async function runIntegrationSuite(options: IntegrationSuiteOptions): Promise<Report> {
  const { inputs, clock, signal, only } = options;
  const context = await createContext(inputs, clock, signal);
  const startedAt = new Date(clock.now()).toISOString();
  const began = clock.elapsed();
  const checks = selectIntegrationChecks(only).map(withoutTraces);
  const results = await runChecks<IntegrationContext>({
    checks,
    context,
    journal: context.journal,
    secrets: context.secrets,
    clock,
    timeoutMs: TIMEOUT_MS,
    signal,
    unexpected: 'harness',
    repeat: options.repeat,
    findLock: (check) => findLock(check as IntegrationCheck, inputs),
    ...(options.onResult === undefined ? {} : { onResult: options.onResult }),
  });
  return createReport(
    {
      suite: 'integration',
      target: inputs.sandboxUrl,
      profile: 'messaging',
      startedAt,
      ms: Math.round(clock.elapsed() - began),
      notRun: checks.slice(results.length).map(({ id }) => id),
      leftBehind: [],
      results,
    },
    { demandsAll: true },
  );
}
