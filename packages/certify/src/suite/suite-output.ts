import { writeFileSync } from 'node:fs';
import type { CommandOptions } from '../../../../src/commands/command-line.ts';
import { systemClock } from '../../../../src/runtime/clock/system-clock.ts';
import { writeHtml } from '../report/html-report.ts';
import { writeJunit } from '../report/junit-report.ts';
import type { Report } from '../report/report.ts';
import { writeText } from '../report/text-report.ts';

/** The exit code for each verdict. */
export const EXIT = { conforms: 0, violates: 1, unknown: 2, harness: 3, interrupted: 130 } as const;

/**
 * npm forwards the Ctrl-C that the terminal has already sent to every process: one key press, two signals.
 */
const ECHO_MS = 200;

export const print = (text: string): void => void process.stdout.write(text);
export const complain = (text: string): void => void process.stderr.write(text);

/** Aborts on the first Ctrl-C, so that a report is written; the second one exits at once. */
export function abortOnSignals(stopping: string): AbortSignal {
  const over = new AbortController();
  const began = { at: 0 };
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      const now = systemClock.elapsed();
      if (over.signal.aborted && now - began.at > ECHO_MS) process.exit(EXIT.interrupted);
      if (over.signal.aborted) return;
      began.at = now;
      complain(`\n${stopping}\n`);
      over.abort();
    });
  }
  return over.signal;
}

/** An option that takes a text; undefined if it is missing or empty. */
export function textOf(options: CommandOptions, name: string): string | undefined {
  const value = options[name];
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** The items of a list separated by commas. */
export function listOf(value: string | undefined): readonly string[] | undefined {
  return value
    ?.split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
}

/** The options of a suite that say where its report goes. */
export const REPORT_OPTIONS = {
  json: { type: 'boolean', description: 'print the report as JSON; progress goes to standard error' },
  junit: { type: 'string', value: 'FILE', description: 'write the report as JUnit XML' },
  html: { type: 'string', value: 'FILE', description: 'write the report as one HTML page' },
} as const;

/** Prints a report, and writes it where the options say. */
export function putReport(report: Report, { json, junit, html }: CommandOptions): void {
  if (typeof junit === 'string') writeFileSync(junit, writeJunit(report));
  if (typeof html === 'string') writeFileSync(html, writeHtml(report));
  print(json === true ? `${JSON.stringify(report)}\n` : `\n${writeText(report)}`);
}
