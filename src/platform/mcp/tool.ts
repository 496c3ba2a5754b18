import type { ToolAnnotations } from '@modelcontextprotocol/server';
import type { z } from 'zod';
import type { ToolName } from '../../contract/service/tools.ts';
import { readShape } from '../calls/read-shape.ts';
import type { Credential } from '../credentials/credential.ts';
import { passed } from '../kernel/decision-trace.ts';

/** The caller of a tool. */
export interface ToolCall {
  readonly credential: Credential;
}

/** A tool for the protocol. */
export interface Tool {
  readonly name: ToolName;
  readonly title: string;
  /** For models. */
  readonly description: string;
  readonly annotations: ToolAnnotations;
  /** Checks the arguments and returns the structured output. Throws `PlatformError`. */
  run(call: ToolCall, given: unknown): Promise<object>;
}

interface ToolParts<Input> extends Omit<Tool, 'run'> {
  /** The contract's shape of the arguments. */
  readonly input: z.ZodType<Input>;
  handle(call: ToolCall, input: Input): Promise<object>;
}

/** Defines a tool whose arguments are checked with a schema. */
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
