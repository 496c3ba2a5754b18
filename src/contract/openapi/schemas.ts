import { z } from 'zod';
import type { JsonSchema } from './document.ts';

const componentPrefix = '#/components/schemas/';

/** Converts zod schemas to the JSON Schemas of one document: named schemas by reference, others inline. */
export interface SchemaBook {
  /** Returns the schema for use in an operation. */
  use(schema: z.ZodType): JsonSchema;
  /** Returns the fields of an object and whether each is required. */
  fields(schema: z.ZodObject): readonly { name: string; required: boolean; schema: JsonSchema }[];
  /** Returns every named schema that was used, directly or indirectly. */
  components(): Record<string, JsonSchema>;
}

/** The zod schemas among the exports of modules, by their name in upper camel case. */
export function namedSchemas(...modules: readonly object[]): Map<string, z.ZodType> {
  const named = new Map<string, z.ZodType>();
  for (const [name, value] of modules.flatMap((module) => Object.entries(module))) {
    if (value instanceof z.ZodType) named.set(name.charAt(0).toUpperCase() + name.slice(1), value);
  }
  return named;
}

/** Opens a book over the schemas that are to be named components. */
export function openSchemaBook(named: ReadonlyMap<string, z.ZodType>): SchemaBook {
  const used = new Set<z.ZodType>();
  const names = new Map([...named].map(([name, schema]) => [schema, name]));
  const convert = (extra: readonly z.ZodType[]) => convertAll(names, extra);
  return {
    use(schema) {
      const name = names.get(schema);
      used.add(schema);
      return name === undefined ? (convert([schema]).get(schema) ?? {}) : { $ref: componentPrefix + name };
    },
    fields(schema) {
      const properties = convert([schema]).get(schema)?.properties ?? {};
      return Object.entries(schema.shape).map(([name, field]) => ({
        name,
        required: !z.safeParse(field, undefined).success,
        schema: asSchema(properties[name]),
      }));
    },
    components() {
      const all = convert([...used]);
      const byName = new Map([...names].map(([schema, name]) => [name, all.get(schema) ?? {}]));
      const reached = new Set<string>();
      for (const schema of used) reach(all.get(schema), byName, reached, names.get(schema));
      return Object.fromEntries([...byName].filter(([name]) => reached.has(name)).sort(byKey));
    },
  };
}

function convertAll(
  names: ReadonlyMap<z.ZodType, string>,
  extra: readonly z.ZodType[],
): Map<z.ZodType, JsonSchema> {
  const registry = z.registry<{ id: string }>();
  const ids = new Map<z.ZodType, string>(names);
  for (const [index, schema] of extra.entries()) if (!ids.has(schema)) ids.set(schema, `inline.${index}`);
  for (const [schema, id] of ids) registry.add(schema, { id });
  const { schemas } = z.toJSONSchema(registry, {
    target: 'draft-2020-12',
    uri: (id) => componentPrefix + id,
    override: ({ zodSchema, jsonSchema }) => relax(zodSchema, jsonSchema),
  });
  return new Map([...ids].map(([schema, id]) => [schema, withoutHead(schemas[id] ?? {})]));
}

/** Only a strict object rejects unknown fields; the pattern of a date-time adds nothing to its format. */
function relax(zodSchema: z.core.$ZodTypes, jsonSchema: JsonSchema): void {
  const { def } = zodSchema._zod;
  if (def.type === 'object' && def.catchall === undefined) delete jsonSchema.additionalProperties;
  if (jsonSchema.format === 'date-time') delete jsonSchema.pattern;
}

function withoutHead(schema: JsonSchema): JsonSchema {
  const { $schema: _dialect, $id: _id, ...rest } = schema;
  return rest;
}

function asSchema(value: JsonSchema | boolean | undefined): JsonSchema {
  return typeof value === 'object' ? value : {};
}

function reach(
  node: unknown,
  byName: ReadonlyMap<string, JsonSchema>,
  reached: Set<string>,
  name?: string,
): void {
  if (name !== undefined) {
    if (reached.has(name)) return;
    reached.add(name);
  }
  if (typeof node !== 'object' || node === null) return;
  for (const [key, value] of Object.entries(node)) {
    if (key === '$ref' && typeof value === 'string' && value.startsWith(componentPrefix)) {
      const target = value.slice(componentPrefix.length);
      reach(byName.get(target), byName, reached, target);
    } else reach(value, byName, reached);
  }
}

function byKey([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : 1;
}
