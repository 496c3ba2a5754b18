import { writeSync } from 'node:fs';
import { type DestinationStream, type Logger as PinoLogger, pino } from 'pino';
import { allowFields } from './fields.ts';
import { formatLine } from './format-line.ts';
import { scrubText } from './scrub-text.ts';

/** pino's logger. Only allow-listed keys of a merged object are output; see `fields.ts`. */
export interface Logger extends Pick<PinoLogger, 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal'> {
  child(bindings: object): Logger;
}

/** The values of `LOG_LEVEL`, by increasing severity; the last one is silent. */
export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;

export type LogLevel = (typeof LOG_LEVELS)[number];

export interface LoggerOptions {
  readonly level: LogLevel;
  /** The name of the process, added to every line. */
  readonly name: string;
  /** Default: standard output. On a terminal, lines are formatted for people instead of JSON. */
  readonly destination?: 'stdout' | 'stderr' | DestinationStream;
}

const LONGEST_MESSAGE = 500;
/** Bytes that wait for a slow reader. */
const LONGEST_BACKLOG = 2 ** 20;

function openDestination(destination: LoggerOptions['destination']): DestinationStream {
  if (typeof destination === 'object') return destination;
  const stream = destination === 'stderr' ? process.stderr : process.stdout;
  if (stream.isTTY) return { write: (line) => void stream.write(formatLine(line, stream)) };
  return writeTo(stream.fd);
}

/**
 * Writes to an open file. What a slow reader has not taken waits for the next line; what cannot be written, as on a full
 * disk, is dropped. pino would end the process, or never return from its last line.
 */
export function writeTo(
  fd: number,
  write: (fd: number, bytes: Buffer) => number = writeSync,
): DestinationStream {
  let waiting: Buffer = Buffer.alloc(0);
  return {
    write(line) {
      if (waiting.length < LONGEST_BACKLOG) waiting = Buffer.concat([waiting, Buffer.from(line)]);
      try {
        while (waiting.length > 0) waiting = waiting.subarray(write(fd, waiting));
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') waiting = Buffer.alloc(0);
      }
    },
  };
}

/**
 * Normalizes every way to call a log method to `(allowed fields, message)`. Values for placeholders in the
 * message are dropped, because they would bypass the allow-list.
 */
function normalizeCall(args: readonly unknown[]): { fields: Record<string, unknown>; message?: string } {
  const [first, second] = args;
  const message = typeof first === 'string' ? first : second;
  let merged: object = {};
  if (first instanceof Error) merged = { err: first };
  else if (typeof first === 'object' && first !== null) merged = first;
  return {
    fields: allowFields(merged),
    ...(typeof message === 'string' ? { message: scrubText(message, LONGEST_MESSAGE) } : {}),
  };
}

/** pino does not apply the filter of the fields to the bindings of a child. */
function guardChildren(logger: PinoLogger): Logger {
  const { child } = logger;
  return Object.assign(logger, {
    child(this: PinoLogger, bindings: object): PinoLogger {
      return child.call<PinoLogger, [object], PinoLogger>(this, allowFields(bindings));
    },
  });
}

/**
 * Creates a JSON logger that cannot leak: keys that are not allow-listed are omitted (and counted in
 * `hiddenFields`), errors are written as type, code and scrubbed message, addresses without credentials and
 * query, and messages are scrubbed. The same applies to child loggers.
 */
export function createLogger(options: LoggerOptions): Logger {
  const logger = pino(
    {
      level: options.level,
      base: { name: options.name },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: (value: unknown) => value },
      hooks: {
        logMethod(args, method) {
          const { fields, message } = normalizeCall(args);
          method.call(this, fields, message);
        },
      },
    },
    openDestination(options.destination),
  );
  return guardChildren(logger);
}
