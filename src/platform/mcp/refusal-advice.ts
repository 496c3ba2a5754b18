import { ADVICE_OF_CODE } from '../kernel/checks.ts';
import type { PlatformError } from '../kernel/platform-error.ts';

const NOT_BY_TOOLS = 'This should not happen with the tools of this server. Do not retry; tell the user.';

/**
 * A refusal as text for a model: `code: what is wrong, what to do`. Never repeats the input.
 * [choice.tools.refusal]
 */
export function adviseRefusal({ code, field, hint, retryAfterSeconds }: PlatformError): string {
  const subject = field === 'body' ? 'the arguments' : `\`${field}\``;
  const wrong = field === undefined ? '' : `${subject} ${hint ?? 'are invalid'}. `;
  const wait = retryAfterSeconds === undefined ? '' : ` Wait at least ${retryAfterSeconds} s.`;
  return `${code}: ${wrong}${ADVICE_OF_CODE[code] ?? NOT_BY_TOOLS}${wait}`;
}
