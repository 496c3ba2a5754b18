import { createLogger, type Logger, type LoggerOptions } from '../../src/runtime/logger/logger.ts';

/** A logger, and what it has written. */
export function collectLog(level: LoggerOptions['level']): {
  readonly logger: Logger;
  readonly lines: string[];
} {
  const lines: string[] = [];
  return { logger: logTo(level, (line) => lines.push(line)), lines };
}

/** A logger whose lines a test reads. */
export function logTo(level: LoggerOptions['level'], write: (line: string) => unknown): Logger {
  return createLogger({ level, name: 'test', destination: { write: (line) => void write(line) } });
}
