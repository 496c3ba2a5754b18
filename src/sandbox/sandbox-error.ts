import type { z } from 'zod';
import { SANDBOX_ERRORS, type SandboxErrorBody, type SandboxErrorCode } from '../contract/sandbox/errors.ts';
import { ERRORS } from '../contract/service/errors.ts';
import { PlatformError } from '../platform/platform-error.ts';

/** A refusal of the control API. `message` is a sentence for people that names the field, if there is one. */
export class SandboxError extends Error {
  override readonly name = 'SandboxError';
  readonly code: SandboxErrorCode;
  readonly field: string | undefined;

  constructor(code: SandboxErrorCode, message: string = SANDBOX_ERRORS[code].meaning, field?: string) {
    super(message);
    this.code = code;
    this.field = field;
  }
}

/** A refusal as it is answered. */
export interface Refusal {
  readonly status: number;
  readonly body: SandboxErrorBody;
}

/** The refusal of an input that its schema did not take. Names the first offending field, repeats no value. */
export function refuseInput(error: z.ZodError): SandboxError {
  const [issue] = error.issues;
  if (issue === undefined) return new SandboxError('invalid_request');
  const unknown = issue.code === 'unrecognized_keys' ? issue.keys.slice(0, 1) : [];
  const field = [...issue.path, ...unknown].join('.');
  if (field === '') return new SandboxError('invalid_request', `The body ${issue.message}.`);
  const why = unknown.length > 0 ? 'there is no such field' : issue.message;
  return new SandboxError('invalid_request', `'${field}': ${why}.`, field);
}

function refusePlatform(error: PlatformError): Refusal {
  const { code, field, hint } = error;
  const { meaning, statuses } = ERRORS[code];
  // Here nobody asks with a credential.
  const message = code === 'not_found' ? SANDBOX_ERRORS.not_found.meaning : (hint ?? meaning);
  return {
    status: statuses[0],
    body: {
      error: code,
      message: field === undefined ? message : `'${field}': ${message}.`,
      ...(field === undefined ? {} : { field }),
    },
  };
}

/** Turns whatever a handler threw into an answer; undefined for what is no refusal but a fault of ours. */
export function toRefusal(error: unknown): Refusal | undefined {
  if (error instanceof PlatformError) return refusePlatform(error);
  if (!(error instanceof SandboxError)) return undefined;
  const { code, message, field } = error;
  return {
    status: SANDBOX_ERRORS[code].status,
    body: { error: code, message, ...(field === undefined ? {} : { field }) },
  };
}
