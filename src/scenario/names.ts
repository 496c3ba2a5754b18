import type { Delivery } from '../contract/sandbox/deliveries.ts';
import { type MessageStatus, messageStatus } from '../contract/service/statuses.ts';
import type { Cause, Definition } from './scenario.ts';
import type { World } from './world.ts';

/** A response by the number of its cause. */
export type Answers = ReadonlyMap<number, unknown>;

const ID = /\bc[a-z0-9]{24}\b/g;
const IS_ID = /^c[a-z0-9]{24}$/;
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/;
/** A name in a text. */
export const NAME = /\$[a-z]+\d+/gi;
const START = /^\$start([+-]\d+)$/;
/** Shorter strings of a response, such as a status, are not worth a name. */
const SHORTEST = 6;
/** A word of the API, such as `message.status`: it means the same in each replay. */
const WORD = /^[a-z]+(?:[._-][a-z]+)*$/;
const DELIVERY_PATH = /^(\/deliveries\/)(\d+)(?=[/?]|$)/;

/** The status that a delivery reports; null if it reports none. */
export function statusOf({ body }: Delivery): MessageStatus | null {
  const found = /"status":"(\w+)"/.exec(body)?.[1];
  return messageStatus.safeParse(found).data ?? null;
}

/** What people write, which is no time even if it looks like one. */
const WRITTEN = ['text', 'caption', 'autoReply', 'label', 'reference'];

/** Replaces the strings of a JSON value, except keys. `key`: of the object that the value is in. */
function mapTexts(value: unknown, map: (text: string, mayBeTime: boolean) => string, key = ''): unknown {
  if (typeof value === 'string') return map(value, !WRITTEN.includes(key));
  if (Array.isArray(value)) return value.map((item) => mapTexts(item, map, key));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, mapTexts(item, map, name)]));
}

type Path = readonly (string | number)[];

function* textsOf(value: unknown, at: Path = []): Generator<readonly [string, Path]> {
  if (typeof value === 'string') yield [value, at];
  else if (Array.isArray(value))
    for (const [key, item] of value.entries()) yield* textsOf(item, [...at, key]);
  else if (typeof value === 'object' && value !== null) {
    for (const [key, item] of Object.entries(value)) yield* textsOf(item, [...at, key]);
  }
}

/** Some servers accept what is no percent encoding, such as `100%`. */
function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** Position of an entry, from 1, among those that are like it. */
function place<Entry>(entries: readonly Entry[], entry: Entry, isLike: (other: Entry) => boolean): number {
  return entries.filter(isLike).indexOf(entry) + 1;
}

/** Gives names to the ids, codes and times of a recording. */
export class Namer {
  readonly names: Record<string, Definition> = {};
  /** Ids whose origin is not known; a replay sends them as they are. */
  readonly unknown = new Set<string>();
  readonly #world: World;
  readonly #startedAt: number;
  readonly #literal: string;
  readonly #known = new Map<string, string>();
  readonly #answered = new Map<string, { readonly cause: number; readonly at: Path }>();
  readonly #counts = new Map<string, number>();
  /** What causes have sent, so that no response is its origin. */
  readonly #sent = new Set<string>();

  /** `startedAt` in epoch milliseconds of virtual time. What `literal` contains becomes no name. */
  constructor(world: World, startedAt: number, literal: string) {
    this.#world = world;
    this.#startedAt = startedAt;
    this.#literal = literal;
  }

  /** Remembers the response of a cause, for the causes after it. */
  learn(cause: number, answer: unknown): void {
    for (const [text, at] of textsOf(answer)) {
      const isMade =
        text.length >= SHORTEST && (!WORD.test(text) || IS_ID.test(text)) && !this.#sent.has(text);
      if (isMade && !this.#answered.has(text)) this.#answered.set(text, { cause, at });
    }
  }

  /** A path with names for its ids. */
  path(surface: Cause['surface'], path: string): string {
    const decoded = path.split(/([/?&=])/).map((part) => this.#text(decode(part)));
    // Separators stay; a name contains nothing that a path encodes.
    const named = decoded
      .map((part) => (/^[/?&=]$/.test(part) || part.startsWith('$') ? part : encodeURIComponent(part)))
      .join('');
    if (surface !== 'sandbox') return named;
    return named.replace(DELIVERY_PATH, (all, lead: string, id: string) => {
      const name = this.#delivery(id);
      if (name === undefined) this.unknown.add(`delivery ${id}`);
      return name === undefined ? all : `${lead}${name}`;
    });
  }

  body(body: unknown): unknown {
    return mapTexts(body, (text, mayBeTime) => this.#text(text, mayBeTime));
  }

  workspace(id: string): string {
    return this.#text(id);
  }

  /** The name of a connection, for example `$connection1`; null if it no longer exists. */
  connection(id: string): string | null {
    return this.#known.get(id) ?? this.#connection(id);
  }

  /** Whether an id has a name. */
  isNamed(id: string): boolean {
    return this.#known.has(id);
  }

  #text(text: string, mayBeTime = true): string {
    this.#sent.add(text);
    if (mayBeTime && TIME.test(text)) return `$start${offset(Date.parse(text) - this.#startedAt)}`;
    const answered = this.#answered.get(text);
    if (answered !== undefined) {
      return this.#known.get(text) ?? this.#give(text, kindOf(answered.at), answered);
    }
    return text.replace(ID, (id) => this.#known.get(id) ?? this.#find(id) ?? this.#miss(id));
  }

  #miss(id: string): string {
    this.unknown.add(id);
    return id;
  }

  #give(value: string, kind: string, definition: { readonly cause: number; readonly at: Path } | Definition) {
    let name: string;
    do {
      const count = (this.#counts.get(kind) ?? 0) + 1;
      this.#counts.set(kind, count);
      name = `$${kind}${count}`;
    } while (this.#literal.includes(name));
    this.#known.set(value, name);
    this.names[name] = definition as Definition;
    return name;
  }

  #find(id: string): string | undefined {
    const answered = this.#answered.get(id);
    if (answered !== undefined) return this.#give(id, kindOf(answered.at), answered);
    if (id === this.#world.workspaceId) return this.#give(id, 'workspace', { workspace: 'seeded' });
    const key = this.#world.apiKeys.indexOf(id);
    if (key !== -1) return this.#give(id, 'apiKey', { apiKeyOf: 'seeded', nth: key + 1 });
    return this.#connection(id) ?? this.#message(id) ?? undefined;
  }

  #connection(id: string): string | null {
    const { connections } = this.#world;
    const found = connections.find((one) => one.id === id);
    if (found?.phoneNumber == null) return null;
    const { phoneNumber } = found;
    const nth = place(connections, found, (other) => other.phoneNumber === phoneNumber);
    return this.#give(id, 'connection', { phoneNumber, nth });
  }

  #message(id: string): string | null {
    const { messages } = this.#world;
    const found = messages.find((one) => one.id === id);
    const connection = found === undefined ? null : this.connection(found.connectionId);
    if (found === undefined || connection === null) return null;
    const nth = place(messages, found, (other) => isLikeMessage(found, other));
    const { direction, peer } = found;
    return this.#give(id, 'message', { message: direction, connection, peer, nth });
  }

  #delivery(id: string): string | undefined {
    const known = this.#known.get(`delivery ${id}`);
    const found = this.#world.deliveries.find((one) => one.id === id);
    if (known !== undefined || found === undefined) return known;
    const connection = this.connection(found.connectionId);
    const message = found.messageId === null ? null : this.#text(found.messageId);
    if (connection === null) return undefined;
    const nth = place(this.#world.deliveries, found, (other) => isLikeDelivery(found, other));
    const status = statusOf(found);
    const what = { delivery: found.event, connection, message, status, nth };
    return this.#give(`delivery ${id}`, 'delivery', what);
  }
}

type MessageKey = Pick<World['messages'][number], 'connectionId' | 'direction' | 'peer'>;

function isLikeMessage(one: MessageKey, other: MessageKey): boolean {
  return (
    one.connectionId === other.connectionId && one.direction === other.direction && one.peer === other.peer
  );
}

function isLikeDelivery(one: Delivery, other: Delivery): boolean {
  const isSame = one.event === other.event && one.connectionId === other.connectionId;
  return isSame && one.messageId === other.messageId && statusOf(one) === statusOf(other);
}

function offset(ms: number): string {
  return `${ms < 0 ? '' : '+'}${ms}`;
}

/** The kind of a value of a response, from the key that holds it. */
function kindOf(at: Path): string {
  const keys = at.filter((key) => typeof key === 'string');
  const last = keys.at(-1) ?? 'value';
  const kind = last === 'id' ? (keys.at(-2) ?? 'id') : last.replace(/Id$/, '');
  return kind.replace(/[^a-z]/gi, '') || 'value';
}

/** A name that means nothing in this replay; the message says what was expected to exist. */
export class UnknownName extends Error {
  override readonly name = 'UnknownName';
}

/** Finds the values that names stand for in a replay. */
export class Resolver {
  readonly #names: Readonly<Record<string, Definition>>;
  readonly #answers: Answers;
  readonly #world: () => Promise<World>;
  readonly #startedAt: number;

  /** `world` reads what exists; it is asked only for names that no response defines. */
  constructor(options: {
    readonly names: Readonly<Record<string, Definition>>;
    readonly answers: Answers;
    readonly world: () => Promise<World>;
    /** Of the replay, in epoch milliseconds of virtual time. */
    readonly startedAt: number;
  }) {
    this.#names = options.names;
    this.#answers = options.answers;
    this.#world = options.world;
    this.#startedAt = options.startedAt;
  }

  /** The text or JSON value with values for names. @throws UnknownName */
  async resolve<Value>(value: Value): Promise<Value> {
    const found = new Map<string, string>();
    for (const [text] of textsOf(value)) {
      for (const name of text.match(NAME) ?? []) {
        if (Object.hasOwn(this.#names, name)) found.set(name, await this.#valueOf(name));
      }
    }
    return mapTexts(value, (text, mayBeTime) => {
      const start = mayBeTime ? START.exec(text)?.[1] : undefined;
      if (start !== undefined) return new Date(this.#startedAt + Number(start)).toISOString();
      return text.replace(NAME, (name) => found.get(name) ?? name);
    }) as Value;
  }

  /** `within`: the names whose definitions have led to this one. */
  async #valueOf(name: string, within: readonly string[] = []): Promise<string> {
    const what = this.#names[name];
    if (what === undefined) return name;
    if (within.includes(name)) throw new UnknownName(`${name} is defined by itself`);
    const path = [...within, name];
    if ('cause' in what) return this.#answerOf(name, what.cause, what.at);
    const world = await this.#world();
    if ('workspace' in what) return world.workspaceId;
    if ('apiKeyOf' in what) return demand(world.apiKeys[what.nth - 1], `${name} is an API key`);
    if ('phoneNumber' in what) {
      const numbered = world.connections.filter(({ phoneNumber }) => phoneNumber === what.phoneNumber);
      return demand(
        numbered[what.nth - 1]?.id,
        `${name} is a connection with the number ${what.phoneNumber}`,
      );
    }
    const connectionId = await this.#valueOf(what.connection, path);
    if ('peer' in what) {
      const key = { connectionId, direction: what.message, peer: what.peer };
      const like = world.messages.filter((message) => isLikeMessage(key, message));
      const described = `${name} is ${what.message} message ${what.nth} of ${what.peer}`;
      return demand(like[what.nth - 1]?.id, described);
    }
    const messageId = what.message === null ? null : await this.#valueOf(what.message, path);
    const like = world.deliveries.filter(
      (one) =>
        one.event === what.delivery &&
        one.connectionId === connectionId &&
        one.messageId === messageId &&
        statusOf(one) === what.status,
    );
    return demand(like[what.nth - 1]?.id, `${name} is a delivery of ${what.delivery}`);
  }

  #answerOf(name: string, cause: number, at: Path): string {
    let value = this.#answers.get(cause);
    for (const key of at) value = (value as Readonly<Record<string | number, unknown>> | null)?.[key];
    if (typeof value === 'string') return value;
    throw new UnknownName(`${name} is from the response of cause ${cause}, which has no ${at.join('.')}`);
  }
}

function demand(value: string | undefined, what: string): string {
  if (value === undefined) throw new UnknownName(`${what}, which does not exist in this replay`);
  return value;
}
