import type { z } from 'zod';
import type { ToolName } from '../../contract/service/tools.ts';
import { readShape } from '../calls/read-shape.ts';
import type { Credential } from '../credentials/credential.ts';
import { passed } from '../kernel/decision-trace.ts';

/** What a client may expect of a call before it makes it. */
interface ToolAnnotations {
  readonly readOnlyHint: boolean;
  readonly destructiveHint: boolean;
  readonly idempotentHint: boolean;
  readonly openWorldHint: boolean;
}

/** Who calls, and how to tell the client that it takes a while. */
export interface ToolCall {
  readonly credential: Credential;
  /** Aborts once nobody waits for the answer any more. */
  readonly signal: AbortSignal;
  /** Tells the client, if it asked for progress, how many seconds have gone by. Never rejects. */
  report(seconds: number, message: string): void;
}

/** A tool as the protocol sees it. */
export interface Tool {
  readonly name: ToolName;
  readonly title: string;
  /** For models. */
  readonly description: string;
  readonly annotations: ToolAnnotations;
  /** Checks the arguments and answers the structured output. Throws `PlatformError`. */
  run(call: ToolCall, given: unknown): Promise<object>;
}

interface ToolParts<Input> extends Omit<Tool, 'run'> {
  /** The contract's shape of the arguments. */
  readonly input: z.ZodType<Input>;
  handle(call: ToolCall, input: Input): Promise<object>;
}

/** Joins a tool's texts and its handler with the shape of its arguments. */
export function defineTool<Input>({ input, handle, ...parts }: ToolParts<Input>): Tool {
  return {
    ...parts,
    async run(call, given) {
      const read = readShape(input, given ?? {});
      passed('shape');
      return handle(call, read);
    },
  };
}
