import { resolve } from 'node:path';
import { z } from 'zod';
import { keepsSecrets } from '../public-network/keeps-secrets.ts';
import { findWeakness, Secret } from './secret.ts';

/** One setting: how its text in the environment becomes a value, and its documentation. */
export interface Setting<Value> {
  /** Its purpose, as a phrase without a full stop. */
  readonly description: string;
  /** The allowed values, as a phrase that completes 'Must be …'. */
  readonly allowed: string;
  /** What applies if it is not set. */
  readonly unset: string;
  /** A value for examples. */
  readonly example: string;
  /** Its value must not be shown anywhere. */
  readonly secret: boolean;
  readonly required: boolean;
  /** Parses the text; any issue means that the text is not allowed. */
  readonly schema: z.ZodType<Value>;
  /** How to generate a value, as a sentence; empty if that is obvious. */
  readonly make: string;
  /**
   * What is wrong with a text that is not allowed, if `allowed` does not explain it. Never contains the text.
   */
  readonly explain: (text: string) => string | undefined;
  /** The value if it is not set. */
  readonly fallback: Value;
}

/** Options of every kind of setting. */
interface SettingOptions<Value> {
  readonly description: string;
  readonly default?: Value;
  /** Without a default: reading fails if it is not set. */
  readonly required?: true;
  /** What applies if it is not set, unless a default states it. */
  readonly unset?: string;
  readonly example?: string;
  /** How to generate a value, as a sentence. */
  readonly make?: string;
}

type ValueOf<Value, Options> = Options extends { readonly default: Value } | { readonly required: true }
  ? Value
  : Value | undefined;

interface Kind<Value> {
  readonly allowed: string;
  readonly schema: z.ZodType<Value>;
  readonly secret?: boolean;
  readonly explain?: (text: string) => string | undefined;
}

function define<Value, const Options extends SettingOptions<Value>>(
  options: Options,
  kind: Kind<Value>,
): Setting<ValueOf<Value, Options>> {
  const text = options.default === undefined ? undefined : String(options.default);
  return {
    description: options.description,
    allowed: kind.allowed,
    unset: options.unset ?? text ?? (options.required === true ? 'required' : 'no value'),
    example: options.example ?? text ?? '',
    secret: kind.secret === true,
    required: options.required === true,
    make: options.make ?? '',
    explain: kind.explain ?? (() => undefined),
    schema: kind.schema as z.ZodType<ValueOf<Value, Options>>,
    fallback: options.default as ValueOf<Value, Options>,
  };
}

/** A line of text; `pattern` and `allowed` restrict it. */
export function string<
  const Options extends SettingOptions<string> & { readonly pattern?: RegExp; readonly allowed?: string },
>(options: Options): Setting<ValueOf<string, Options>> {
  const schema = z.string().regex(options.pattern ?? /\S/);
  return define<string, Options>(options, { allowed: options.allowed ?? 'a non-empty string', schema });
}

/** An integer from `min` to `max`. */
export function integer<
  const Options extends SettingOptions<number> & {
    readonly min: number;
    readonly max: number;
    readonly unit?: string;
  },
>(options: Options): Setting<ValueOf<number, Options>> {
  const unit = options.unit === undefined ? '' : ` of ${options.unit}`;
  return define<number, Options>(options, {
    allowed: `an integer${unit} from ${options.min} to ${options.max}`,
    schema: z
      .string()
      .regex(/^-?\d{1,15}$/)
      .transform(Number)
      .pipe(z.number().min(options.min).max(options.max)),
  });
}

/** One of several words. */
export function oneOf<
  const Value extends string,
  const Options extends SettingOptions<Value> & { readonly values: readonly [Value, ...Value[]] },
>(options: Options & { readonly values: readonly [Value, ...Value[]] }): Setting<ValueOf<Value, Options>> {
  return define<Value, Options>(options, {
    allowed: `one of ${options.values.join(', ')}`,
    schema: z.enum(options.values) as unknown as z.ZodType<Value>,
  });
}

/** A file or folder; the value is absolute, and a relative path starts at the working directory. */
export function path<const Options extends SettingOptions<string>>(
  options: Options,
): Setting<ValueOf<string, Options>> {
  const schema = z
    .string()
    .refine((text) => !text.includes('\0'))
    .transform((text) => resolve(text));
  return define<string, Options>(options, { allowed: 'a path', schema });
}

/** Several texts, separated by commas; `accepts` and `allowed` restrict them. Never an empty list. */
export function list<
  const Options extends SettingOptions<readonly string[]> & {
    readonly accepts?: (item: string) => boolean;
    readonly allowed?: string;
  },
>(options: Options): Setting<ValueOf<readonly string[], Options>> {
  const { accepts = () => true, allowed = 'one or more strings, separated by commas' } = options;
  return define<readonly string[], Options>(options, {
    allowed,
    schema: z
      .string()
      .transform(splitList)
      .pipe(z.array(z.string().refine(accepts)).min(1)),
  });
}

function splitList(text: string): string[] {
  const items = text.split(',').map((item) => item.trim());
  return items.filter((item) => item !== '');
}

function hasProtocol(text: string, protocols: readonly string[]): boolean {
  return URL.canParse(text) && protocols.includes(new URL(text).protocol) && new URL(text).hostname !== '';
}

function isPlain(text: string): boolean {
  const url = new URL(text);
  return url.username === '' && url.password === '' && url.search === '' && url.hash === '';
}

/**
 * The address of a server that receives secrets: https, or plain http on this machine. Otherwise like `url`.
 */
export function confidentialUrl<const Options extends SettingOptions<string>>(
  options: Options,
): Setting<ValueOf<string, Options>> {
  const { schema } = url({ description: options.description, protocols: ['https:', 'http:'] });
  return define<string, Options>(options, {
    allowed:
      'a URL that starts with https://, without user, password, ? and #; http:// is allowed only on this machine, because it exposes secrets in transit',
    schema: schema.refine((text) => text !== undefined && keepsSecrets(text)) as z.ZodType<string>,
  });
}

/** A URL without credentials, query and fragment. The value has no trailing slash. */
export function url<const Options extends SettingOptions<string> & { readonly protocols: readonly string[] }>(
  options: Options,
): Setting<ValueOf<string, Options>> {
  return define<string, Options>(options, {
    allowed: `a URL that starts with ${options.protocols.map((protocol) => `${protocol}//`).join(' or ')}, without user, password, ? and #`,
    schema: z
      .string()
      .refine((text) => hasProtocol(text, options.protocols) && isPlain(text))
      .transform((text) => text.replace(/\/+$/, '')),
  });
}

/** URLs that may contain a password; several are separated by commas if `many` is true. */
export function secretUrl<
  const Options extends SettingOptions<Secret> & {
    readonly protocols: readonly string[];
    readonly many?: true;
    /** Decides about URLs that are not those of the web. */
    readonly accepts?: (text: string) => boolean;
  },
>(options: Options): Setting<ValueOf<Secret, Options>> {
  const { accepts = (text: string) => hasProtocol(text, options.protocols) } = options;
  const start = options.protocols.map((protocol) => `${protocol}//`).join(' or ');
  const fits = (text: string): boolean => {
    const urls = options.many === true ? splitList(text) : [text];
    return urls.length > 0 && urls.every(accepts);
  };
  return define<Secret, Options>(options, {
    allowed: `${options.many === true ? `URLs, separated by commas, that start with ${start}` : `a URL that starts with ${start}`}; special characters in its password are percent-encoded`,
    schema: z
      .string()
      .refine(fits)
      .transform((text) => new Secret(text)),
    secret: true,
  });
}

/**
 * A secret; `pattern` and `allowed` restrict it. `least`: its minimum length; it must also not repeat the
 * same few characters.
 */
export function secret<
  const Options extends SettingOptions<Secret> & {
    readonly pattern?: RegExp;
    readonly allowed?: string;
    readonly least?: number;
  },
>(options: Options): Setting<ValueOf<Secret, Options>> {
  const { least = 1, pattern = /./, allowed = 'a non-empty secret' } = options;
  const explain = (text: string): string | undefined => (least > 1 ? findWeakness(text, least) : undefined);
  return define<Secret, Options>(options, {
    allowed: least > 1 ? `${allowed}, of at least ${least} characters` : allowed,
    schema: z
      .string()
      .regex(pattern)
      .refine((text) => explain(text) === undefined)
      .transform((text) => new Secret(text)),
    secret: true,
    explain,
  });
}

/** The parsed entry of a list, or what is wrong with it, as a phrase that never contains it. */
export type ReadEntry<Entry> = { readonly entry: Entry } | { readonly problem: string };

/** Several entries that contain secrets, separated by commas; `read` parses each. Never an empty list. */
export function secretEntries<Entry>(
  options: Omit<SettingOptions<never>, 'default' | 'required'> & {
    readonly read: (item: string, before: readonly Entry[]) => ReadEntry<Entry>;
    readonly allowed: string;
  },
): Setting<readonly Entry[] | undefined> {
  const readAll = (text: string): { readonly entries: readonly Entry[]; readonly problem?: string } => {
    const entries: Entry[] = [];
    for (const item of splitList(text)) {
      const found = options.read(item, entries);
      if ('problem' in found) return { entries, problem: `${found.problem} (entry ${entries.length + 1})` };
      entries.push(found.entry);
    }
    return entries.length === 0 ? { entries, problem: 'no entry' } : { entries };
  };
  return define<readonly Entry[], Omit<typeof options, 'default' | 'required'>>(options, {
    allowed: options.allowed,
    schema: z
      .string()
      .refine((text) => readAll(text).problem === undefined)
      .transform((text) => readAll(text).entries),
    secret: true,
    explain: (text) => readAll(text).problem,
  });
}
