import type { MessageDifference, ReplayOptions, ReplaySummary } from '../connector/replay/replay.ts';
import type { Clock } from '../runtime/clock/clock.ts';

interface ReplayReportOptions {
  readonly json: boolean;
  /** Messages to show as text; JSON shows all of them. */
  readonly show: number;
  readonly apply: boolean;
  readonly clock: Clock;
  readonly print: (text: string) => void;
  /** Receives the progress, separately from the report. */
  readonly printProgress: (line: string) => void;
}

/** Time between two progress reports. */
const PROGRESS_MS = 3_000;

/** Writes the results of a replay as they are found, so that a long report needs no memory. */
export function createReplayReport(options: ReplayReportOptions) {
  const { json, show, apply, clock, print, printProgress } = options;
  let shown = 0;
  let reportedAt = clock.elapsed();
  return {
    difference(difference: MessageDifference): void {
      shown += 1;
      if (json) print(`${JSON.stringify(difference)}\n`);
      else if (shown <= show) print(writeDifference(difference));
    },
    progress({ deliveries, messages }: Parameters<ReplayOptions['onProgress']>[0]): void {
      if (clock.elapsed() - reportedAt < PROGRESS_MS) return;
      reportedAt = clock.elapsed();
      printProgress(`compared ${messages} messages with ${deliveries} deliveries\n`);
    },
    end(summary: ReplaySummary): void {
      if (json) print(`${JSON.stringify({ summary: presentSummary(summary) })}\n`);
      else {
        if (shown > show) print(`… and ${shown - show} more; --show ${shown} or --json shows them.\n`);
        print(writeSummary(summary, apply));
      }
    },
  };
}

function writeDifference({ messageId, connectionId, fields }: MessageDifference): string {
  return `${messageId} of ${connectionId} lacks data of its deliveries: ${fields.join(', ')}\n`;
}

function writeSummary(
  { keptSince, deliveries, messages, different, ...rest }: ReplaySummary,
  apply: boolean,
): string {
  const since = keptSince === null ? '' : ` since ${new Date(keptSince).toISOString().slice(0, 10)}`;
  const lines = [
    `Retained deliveries${since}: ${deliveries}, for ${messages} messages in this database.`,
    ...(rest.invalid > 0 ? [`Invalid deliveries, which contain nothing to merge: ${rest.invalid}.`] : []),
    ...(rest.refused > 0 ? [`Deliveries that the database rejects: ${rest.refused}.`] : []),
    different === 0 ? 'No message differs.' : `Messages that differ: ${different}.`,
    ...(apply ? [`Messages that were changed: ${rest.applied}.`] : []),
  ];
  if (!apply && different > 0) {
    lines.push('Nothing was written; --apply adds what is missing.');
  }
  return `${lines.join('\n')}\n`;
}

function presentSummary({ keptSince, ...rest }: ReplaySummary) {
  return { keptSince: keptSince === null ? null : new Date(keptSince).toISOString(), ...rest };
}
