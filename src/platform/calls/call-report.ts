import type { Request } from 'express';
import type { ToolName } from '../../contract/service/tools.ts';
import type { Clock } from '../../runtime/clock/clock.ts';
import { type CheckStep, createDecisionTrace, type DecisionTrace } from '../kernel/decision-trace.ts';
import type { DomainClock } from '../time/domain-clock.ts';
import { findFault } from './answer-fault.ts';
import type { ApiFault } from './api-faults.ts';
import { type OnCall, recordedPath } from './call-record.ts';

/** What is kept of a request until its record is written. */
export interface CallReport {
  readonly trace: DecisionTrace;
  tool: ToolName | null;
  /** The code of a refusal. */
  code: string | null;
  /** Writes the record, the first time; null: no answer came. */
  write(status: number | null): void;
}

interface Options {
  readonly clock: DomainClock;
  readonly systemClock: Clock;
  readonly faults: readonly ApiFault[];
  readonly onCall: OnCall | undefined;
}

/** What faults did to the call itself, as the last steps of its trace; those that only held it are named beside it. */
function faultSteps(faults: readonly ApiFault[]): CheckStep[] {
  const isReset = findFault(faults, 'reset') !== undefined;
  const did = (fault: ApiFault): string | undefined => {
    if (fault.type === 'reset') return 'reset the connection; nothing was done';
    if (fault.type === 'lost_answer' && !isReset) return 'reset the connection in place of the answer';
    if (fault.type === 'status' && !isReset) return `answered ${fault.code}; nothing was done`;
    return undefined;
  };
  return faults.flatMap((fault) => {
    const what = did(fault);
    const { type, name = type } = fault;
    return what === undefined ? [] : [{ check: 'fault', passed: false, why: `the rule "${name}" ${what}` }];
  });
}

/** Begins the record of a request. */
export function openCallReport(
  { method, path }: Request,
  { clock, systemClock, faults, onCall }: Options,
): CallReport {
  const at = clock.now();
  const began = systemClock.elapsed();
  const trace = createDecisionTrace();
  let written = false;
  const report: CallReport = {
    trace,
    tool: null,
    code: null,
    write(status) {
      if (written) return;
      written = true;
      onCall?.({
        at,
        method,
        path: recordedPath(path),
        ...(report.tool === null ? {} : { tool: report.tool }),
        credentialId: trace.credentialId,
        workspaceId: trace.workspaceId,
        status,
        code: report.code,
        ms: systemClock.elapsed() - began,
        trace: [...trace.steps, ...faultSteps(faults)],
        faults: faults.map(({ type, name = type }) => name),
      });
    },
  };
  return report;
}
