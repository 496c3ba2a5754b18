import type { Report } from '../report/report.ts';
import { runSuite, type SuiteRun, selectById } from '../suite/run-suite.ts';
import { pollChecks } from './checks/polls.ts';
import { refusedKeyChecks, sendChecks } from './checks/sends.ts';
import { sessionChecks } from './checks/sessions.ts';
import { createContext, type IntegrationContext, type IntegrationInputs } from './context.ts';
import { findLock, type IntegrationCheck, TIMEOUT_MS } from './integration-check.ts';

/** Every check of an integration, in the order in which they run. */
export const INTEGRATION_CHECKS: readonly IntegrationCheck[] = [
  ...pollChecks,
  ...sendChecks,
  ...sessionChecks,
  ...refusedKeyChecks,
];

export interface IntegrationSuiteOptions extends SuiteRun {
  readonly inputs: IntegrationInputs;
  /** The command that runs one check. */
  readonly repeat?: (id: string) => string;
}

export function selectIntegrationChecks(only?: readonly string[]): readonly IntegrationCheck[] {
  return selectById(INTEGRATION_CHECKS, only);
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
  return await runSuite<IntegrationContext>(options, {
    about: { suite: 'integration', target: inputs.sandboxUrl, profile: 'messaging' },
    checks: selectIntegrationChecks(only).map(withoutTraces),
    context,
    timeoutMs: TIMEOUT_MS,
    unexpected: 'harness',
    repeat: options.repeat,
    findLock: (check) => findLock(check as IntegrationCheck, inputs),
    conclusion: { demandsAll: true },
  });
}
