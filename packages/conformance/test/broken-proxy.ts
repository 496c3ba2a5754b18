import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import { serve } from '../../../test/support/serve.ts';
import type { ServiceSuiteOptions } from '../src/run-service-suite.ts';
import type { ServiceInputs } from '../src/service/inputs.ts';
import { type GradedWorkspace, grade } from './graded-service.ts';

/** A request on its way to the service. It is sent as the mutation leaves it. */
export interface PassingRequest {
  readonly method: string;
  /** Relative to the base address, with its query. */
  path: string;
  readonly headers: Record<string, string>;
  // biome-ignore lint/suspicious/noExplicitAny: mutations reach into bodies by field
  body: any;
}

/** An answer on its way back. */
export interface PassingAnswer {
  status: number;
  readonly headers: Record<string, string>;
  // biome-ignore lint/suspicious/noExplicitAny: mutations reach into bodies by field
  body: any;
}

/** How a service breaks one rule. */
export interface Breakage {
  /** Changes a request, or answers it in place of the service. */
  ask?(request: PassingRequest): PassingAnswer | undefined;
  /** Changes an answer. */
  answer?(answer: PassingAnswer, request: PassingRequest): void;
}

/** By the id of the check that must report them: mistakes, and how they are made. */
export type Broken<How> = Readonly<Record<string, Readonly<Record<string, How>>>>;

/** Each mistake, the check that must report it, and how it is made. */
export const eachOf = <How>(broken: Broken<How>): readonly (readonly [string, string, How])[] =>
  Object.entries(broken).flatMap(([found, mistakes]) =>
    Object.entries(mistakes).map(([what, how]) => [what, found, how] as const),
  );

/** Overrides some fields of a request or an answer. */
export const setting =
  (fields: object) =>
  (target: object): void =>
    void Object.assign(target, fields);

export const json = (status: number, body: unknown, headers: Record<string, string> = {}): PassingAnswer => ({
  status,
  headers: { 'content-type': 'application/json', ...headers },
  body,
});

/** A service with one rule broken. */
export interface BrokenProxy {
  readonly baseUrl: string;
  /** Every request and its answer, in order. */
  readonly passed: readonly { readonly request: PassingRequest; readonly status: number }[];
  close(): Promise<void>;
}

const NOT_PASSED_ON = [
  'host',
  'connection',
  'content-length',
  'transfer-encoding',
  'keep-alive',
  'accept-encoding',
];

function plainHeaders(headers: IncomingHttpHeaders): Record<string, string> {
  const entries = Object.entries(headers).filter(([name]) => !NOT_PASSED_ON.includes(name));
  return Object.fromEntries(entries.map(([name, value]) => [name, String(value)]));
}

function parse(text: string): unknown {
  try {
    return text === '' ? undefined : JSON.parse(text);
  } catch {
    return text;
  }
}

function print(body: unknown): string | undefined {
  return body === undefined || typeof body === 'string' ? body : JSON.stringify(body);
}

/** Replaces the service's address with the proxy's in an answer. */
function moveTo(answer: PassingAnswer, from: string, to: string): void {
  answer.body = parse((print(answer.body) ?? '').replaceAll(from, to));
  for (const name of ['location', 'www-authenticate']) {
    const value = answer.headers[name];
    if (value !== undefined) answer.headers[name] = value.replaceAll(from, to);
  }
}

/** Puts a broken rule in front of the service at `baseUrl`. */
export async function startBrokenProxy(baseUrl: string, breakage: Breakage = {}): Promise<BrokenProxy> {
  const passed: { request: PassingRequest; status: number }[] = [];
  const prefix = new URL(baseUrl).pathname.replace(/\/$/, '');

  async function forward(request: PassingRequest): Promise<PassingAnswer> {
    const { method, path, headers, body } = request;
    const text = print(body);
    const sent = await fetch(`${baseUrl}${path}`, {
      method,
      headers,
      redirect: 'manual',
      ...(text === undefined ? {} : { body: text }),
    });
    const answer = await sent.text();
    const kept = [...sent.headers].filter(([name]) => !NOT_PASSED_ON.includes(name));
    return { status: sent.status, headers: Object.fromEntries(kept), body: parse(answer) };
  }

  const server: Server = createServer((incoming, response) => {
    const chunks: Buffer[] = [];
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    incoming.once('end', async () => {
      const request: PassingRequest = {
        method: incoming.method ?? '',
        path: (incoming.url ?? '').slice(prefix.length),
        headers: plainHeaders(incoming.headers),
        body: parse(Buffer.concat(chunks).toString()),
      };
      try {
        const answer = breakage.ask?.(request) ?? (await forward(request));
        if (prefix === '') moveTo(answer, baseUrl, `http://${incoming.headers.host}`);
        breakage.answer?.(answer, request);
        passed.push({ request, status: answer.status });
        response.writeHead(answer.status, answer.headers).end(print(answer.body) ?? '');
      } catch {
        response.destroy();
      }
    });
  });
  const { url, close } = await serve(server);
  return { baseUrl: `${url}${prefix}`, passed, close };
}

/** Grades the service through a proxy, in the same workspace, optionally with other inputs. */
export async function gradeThrough(
  graded: GradedWorkspace,
  breakage: Breakage,
  options: Partial<ServiceSuiteOptions> = {},
  inputs: Partial<ServiceInputs> = {},
) {
  const proxy = await startBrokenProxy(graded.inputs.baseUrl, breakage);
  try {
    const report = await grade(graded, options, { baseUrl: proxy.baseUrl, ...inputs });
    return { report, passed: proxy.passed };
  } finally {
    await proxy.close();
  }
}
