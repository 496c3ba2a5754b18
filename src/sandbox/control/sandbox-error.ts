import type { z } from 'zod';
import {
  SANDBOX_ERRORS,
  type SandboxErrorBody,
  type SandboxErrorCode,
} from '../../contract/sandbox/errors.ts';
import { ERRORS } from '../../contract/service/errors.ts';
import { PlatformError } from '../../platform/kernel/platform-error.ts';
import { LocalRefusal } from '../../runtime/http-server/local-only.ts';

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

/** Of the fields that are not known. */
const MAX_NAMED = 5;

/** A refusal as it is answered. */
export interface Refusal {
  readonly status: number;
  readonly body: SandboxErrorBody;
}

/** The refusal of an input that has fields which are not known. */
export function refuseUnknown(fields: readonly string[]): SandboxError {
  return new SandboxError('invalid_request', noSuchFields(fields), fields[0]);
}

function noSuchFields(fields: readonly string[]): string {
  const named = fields.slice(0, MAX_NAMED).map((field) => `'${field}'`);
  return `${named.join(', ')}: is not a known field.`;
}

/**
 * The refusal of an input that its schema did not take. Names the first offending field, and all that are not known: a
 * name that is mistyped counts as missing as well. Contains no values.
 */
export function refuseInput({ issues }: z.ZodError): SandboxError {
  const unknown = issues.flatMap((issue) =>
    issue.code === 'unrecognized_keys' ? issue.keys.map((key) => [...issue.path, key].join('.')) : [],
  );
  const wrong = issues.find(({ code }) => code !== 'unrecognized_keys');
  if (wrong === undefined) return refuseUnknown(unknown);
  const also = unknown.length === 0 ? '' : ` ${noSuchFields(unknown)}`;
  const field = wrong.path.join('.');
  if (field === '')
    return new SandboxError('invalid_request', `The body ${wrong.message}.${also}`, unknown[0]);
  return new SandboxError('invalid_request', `'${field}': ${wrong.message}.${also}`, field);
}

const NO_SUCH_ID = 'No object has this id. A reset assigns new ids.';

function refusePlatform(error: PlatformError): Refusal {
  const { code, field, hint, why } = error;
  const { meaning, statuses } = ERRORS[code];
  // Calls here have no credential, so nothing needs to be hidden.
  const reason = why === undefined ? meaning : `${meaning} Here ${why}.`;
  const message = code === 'not_found' ? NO_SUCH_ID : (hint ?? reason);
  return {
    status: statuses[0],
    body: {
      error: code,
      message: field === undefined ? message : `'${field}': ${message}.`,
      ...(field === undefined ? {} : { field }),
    },
  };
}

/** Converts what a handler threw into a response; undefined for an internal error. */
export function toRefusal(error: unknown): Refusal | undefined {
  if (error instanceof PlatformError) return refusePlatform(error);
  if (!(error instanceof SandboxError || error instanceof LocalRefusal)) return undefined;
  const { code, message } = error;
  const field = error instanceof SandboxError ? error.field : undefined;
  return {
    status: SANDBOX_ERRORS[code].status,
    body: { error: code, message, ...(field === undefined ? {} : { field }) },
  };
}

/** The answer to anything else that a handler threw. */
export const INTERNAL_ERROR: Refusal = {
  status: SANDBOX_ERRORS.internal_error.status,
  body: { error: 'internal_error', message: SANDBOX_ERRORS.internal_error.meaning },
};
