import { ADVANCE_FORMS, type Advance, readAdvance } from '../contract/sandbox/advance.ts';
import type { CallPort, CallSandbox } from './call-sandbox.ts';
import { type CommandDefinition, type CommandOptions, UsageError } from './command-line.ts';

/** What subcommands of `sandbox` call. */
export interface SandboxTarget {
  readonly call: CallSandbox;
  readonly callPort: CallPort;
}

/** The input of a subcommand, with what it calls. */
export type Given<Target = SandboxTarget> = Target & {
  /** The required argument with this name in its usage. */
  readonly word: (name: string) => string;
  /** The same for an optional argument. */
  readonly optional: (name: string) => string | undefined;
  readonly options: CommandOptions;
};

/** The output of a subcommand: for `--json`, and as text. */
export interface Answered {
  readonly json: unknown;
  readonly text: string;
  /** True ends the command with exit code 1. */
  readonly failed?: boolean;
}

/** A subcommand: it calls an API and describes the response. */
export interface Subcommand<Target = SandboxTarget> {
  /** Its arguments, as in `CommandDefinition`. */
  readonly words: string;
  readonly summary: string;
  readonly options?: CommandDefinition['options'];
  readonly run: (given: Given<Target>) => Promise<Answered>;
}

export function advanceOf(text: string): Advance {
  const advance = readAdvance(text);
  if (advance === null) throw new UsageError(`"${text}" is not a time: ${ADVANCE_FORMS}.`);
  return advance;
}

export function readNumber(text: unknown, what: string): number | undefined {
  if (text === undefined) return undefined;
  if (typeof text === 'string' && /^\d+(\.\d+)?$/.test(text)) return Number(text);
  throw new UsageError(`${what} must be a number, not "${String(text)}".`);
}

export function readText(options: CommandOptions, name: string): string | undefined {
  const text = options[name];
  return typeof text === 'string' ? text : undefined;
}

const ID = /^c[a-z0-9]{24}$/;
const LONGEST_PAGE = '1000';

/**
 * The id of a connection, given its id, its phone number or its label. Of several, the newest one in the workspace of
 * the API key, or else the newest one.
 */
export async function readConnection(call: CallSandbox, word: string): Promise<string> {
  if (ID.test(word)) return word;
  const isNumber = /^\d+$/.test(word);
  const query = isNumber ? { phoneNumber: word } : { limit: LONGEST_PAGE };
  const { entries } = await call('listConnections', { query });
  const { workspaceId } = await call('getInfo');
  const named = entries.filter(({ label, phoneNumber }) => (isNumber ? phoneNumber : label) === word);
  const found = named.findLast((entry) => entry.workspaceId === workspaceId) ?? named.at(-1);
  if (found === undefined)
    throw new Error(`No connection has the id, the phone number or the label "${word}".`);
  return found.id;
}

/** Rows as text, one line each: line breaks and control characters in what people wrote are spaces. */
export function table(rows: readonly (readonly (string | number | null)[])[], none: string): string {
  const cells = rows.map((row) => row.map((cell) => String(cell ?? '-').replace(/\p{Cc}+/gu, ' ')));
  const widths = (cells[0] ?? []).map((_, place) => Math.max(...cells.map((row) => row[place]?.length ?? 0)));
  const lines = cells.map((row) => row.map((cell, place) => cell.padEnd(widths[place] ?? 0)).join('  '));
  return lines.length === 0 ? none : lines.map((line) => line.trimEnd()).join('\n');
}
