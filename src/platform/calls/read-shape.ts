import type { z } from 'zod';
import { inputWords } from '../../contract/schema/input-words.ts';
import type { ErrorCode } from '../../contract/service/errors.ts';
import { describeRefusal } from '../../contract/service/request-refusal.ts';
import { PlatformError } from '../kernel/platform-error.ts';

/** Parses a value with a schema. Throws the contract's refusal, which names the field. */
export function readShape<Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> {
  const read = schema.safeParse(value, { error: inputWords });
  if (read.success) return read.data;
  const { error, field, hint } = describeRefusal(read.error);
  const code: ErrorCode = error;
  throw new PlatformError(code, {
    ...(field === undefined ? {} : { field }),
    ...(hint === undefined ? {} : { hint }),
  });
}
