import type { Request } from 'express';
import type { ToolName } from '../../contract/service/tools.ts';
import type { Clock } from '../../runtime/clock/clock.ts';
import { createDecisionTrace, type DecisionTrace } from '../kernel/decision-trace.ts';
import type { DomainClock } from '../time/domain-clock.ts';
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
  readonly onCall: OnCall | undefined;
}

/** Begins the record of a request. */
export function openCallReport(
  { method, path }: Request,
  { clock, systemClock, onCall }: Options,
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
        trace: trace.steps,
      });
    },
  };
  return report;
}
