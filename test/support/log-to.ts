import { createLogger, type Logger, type LoggerOptions } from '../../src/runtime/logger/logger.ts';

/** A logger whose lines a test reads. */
export function logTo(level: LoggerOptions['level'], write: (line: string) => unknown): Logger {
  return createLogger({ level, name: 'test', destination: { write: (line) => void write(line) } });
}
