import type { StandardSchemaWithJSON } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { SERVICE_TOOLS, type ToolName } from '../../contract/service/tools.ts';

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function portableKeyword([name, value]: readonly [string, unknown]): readonly [string, unknown] {
  if (name === 'type' && Array.isArray(value)) return ['anyOf', value.map((type: unknown) => ({ type }))];
  if (name === 'additionalProperties' && isRecord(value) && Object.keys(value).length === 0)
    return [name, true];
  return [name, portable(value)];
}

/**
 * Rewrites a schema in keywords that all model providers accept: a list of types becomes alternatives of one type
 * each, and an unrestricted `additionalProperties` becomes `true`. The meaning does not change.
 */
function portable(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(portable);
  return isRecord(schema) ? Object.fromEntries(Object.entries(schema).map(portableKeyword)) : schema;
}

function listed(
  shape: z.ZodType,
  io: 'input' | 'output',
  validate: StandardSchemaWithJSON['~standard']['validate'],
): StandardSchemaWithJSON {
  const shown = Object.fromEntries(Object.entries(z.toJSONSchema(shape, { io })).map(portableKeyword));
  const jsonSchema = { input: () => shown, output: () => shown };
  return { '~standard': { version: 1, vendor: 'messaging', validate, jsonSchema } };
}

/**
 * The schemas of a tool as they are listed. The tool checks its arguments, so that its refusals are like all others;
 * outputs are also checked here.
 */
export function listedSchemas(name: ToolName) {
  const { input, output } = SERVICE_TOOLS[name];
  return {
    inputSchema: listed(input, 'input', (value) => ({ value })),
    outputSchema: listed(output, 'output', (value) => output['~standard'].validate(value)),
  };
}
