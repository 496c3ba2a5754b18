import { configure, screen, waitFor, within } from '@testing-library/dom';
import { type UserEvent, userEvent } from '@testing-library/user-event';
import { createRoot } from 'react-dom/client';
import { afterEach, beforeEach, expect, onTestFinished, vi } from 'vitest';
import type { ConsoleMode } from '../../../src/contract/console/screens.ts';
import type { EndpointDefinition } from '../../../src/contract/schema/endpoint.ts';
import { CHECKED_APIS, checkAnswer } from '../../../test/support/check-answer.ts';
import type { StreamEvent } from '../src/data/stream-event.ts';
import { EMPTY } from './answers.tsx';

export const SANDBOX: ConsoleMode = { mode: 'sandbox', write: true, connector: true };
export const PRODUCTION: ConsoleMode = {
  mode: 'production',
  write: false,
  connector: true,
  deployment: { environment: 'production', address: 'connector.example.com' },
};

/** A request of the page. */
export interface Sent {
  readonly method: string;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly body: unknown;
  readonly headers: Readonly<Record<string, string>>;
}

/** An answer other than a success, with its error and message or its whole body. */
export class Refusal {
  readonly status: number;
  readonly body: object;
  constructor(status: number, error: string | object, message?: string) {
    this.status = status;
    this.body = typeof error === 'object' ? error : { error, message };
  }
}
export const invalid = (field: string, message: string): Refusal =>
  new Refusal(400, { error: 'invalid_request', message, field });

/** What the server answers: by method and path, `GET /sandbox/v1/faults`. */
export type Answers = Readonly<Record<string, object | ((request: Sent) => object | Promise<object>)>>;

/** A page, with which a proxy answers for a server that it does not reach. */
export const ofProxy = (status: number): Refusal =>
  Object.assign(new Refusal(status, {}), { body: '<html></html>' });

/** Never answers. */
export const silence = (): Promise<never> => new Promise(() => undefined);

const APIS = [
  ['sandbox', '/sandbox/v1'],
  ['connector', '/connector'],
  ['service', '/service'],
] as const;

function rowOf(path: string): { api: (typeof APIS)[number][0]; rest: string } | undefined {
  const found = APIS.find(([, prefix]) => path.startsWith(`${prefix}/`));
  return found && { api: found[0], rest: path.slice(found[1].length) };
}

const matches = (pattern: string, path: string): boolean =>
  new RegExp(`^${pattern.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(path);

function endpointOf(api: keyof typeof CHECKED_APIS, method: string, path: string) {
  const all: readonly EndpointDefinition[] = CHECKED_APIS[api].endpoints;
  // A fixed path precedes one with a parameter.
  return (
    all.find((row) => row.method === method && row.path === path) ??
    all.find((row) => row.method === method && matches(row.path, path))
  );
}

/** What the browser says against the page, and what the page asked for without need. */
let complaints: string[] = [];

beforeEach(() => {
  complaints = [];
  vi.spyOn(console, 'error').mockImplementation((...words) => void complaints.push(words.join(' ')));
});
afterEach(() => {
  vi.restoreAllMocks();
  expect(complaints).toEqual([]);
});

/** Checks the request and the answer against the contract of the API that the path belongs to. */
function checkExchange(sent: Sent, status: number, body: unknown): void {
  const row = rowOf(sent.path);
  // The server of the page answers for a connector that it does not reach.
  const isOfHost = status === 502 && (body as { error?: string }).error === 'connector_unreachable';
  if (row === undefined || row.rest === '/readyz' || isOfHost || typeof body === 'string') return;
  const endpoint = endpointOf(row.api, sent.method, row.rest);
  expect(endpoint, `${sent.method} ${sent.path} is no call of the ${row.api}`).toBeDefined();
  if (status < 400) {
    const call = `${sent.method} ${sent.path}`;
    if (endpoint?.body !== undefined && (sent.body !== undefined || endpoint.body.required))
      expect(endpoint.body.schema.safeParse(sent.body).error?.message, call).toBeUndefined();
    if (endpoint?.query !== undefined)
      expect(endpoint.query.safeParse(sent.query).error?.message, call).toBeUndefined();
  }
  checkAnswer(row.api, sent.method, row.rest, { status, body, header: () => 'x' });
}

/** An open page, without a browser: the whole page in a document of its own, and a server that a test plays. */
export interface Page {
  readonly user: UserEvent;
  /** Presses keys, after which what has this name has the focus. */
  press(keys: string, focus: string | RegExp): Promise<void>;
  /** Changes of anything that the page asked for, in order. */
  readonly writes: readonly Sent[];
  readonly reads: readonly Sent[];
  /** Sends an event of the stream. */
  hear(event: StreamEvent): void;
  /** The stream says that it is open. */
  beat(): void;
  /** Further answers, which take the place of the first ones. */
  answer(more: Answers): void;
  /** What the page showed in the main part, as text. */
  text(): string;
}

interface Options {
  readonly mode?: ConsoleMode;
  /** Whether what is on display is also read again by itself. Without it, only an event shows what has changed. */
  readonly refreshes?: boolean;
}

/** Loads the page afresh and opens a screen of it. */
export async function openPage(
  path: string,
  answers: Answers = {},
  { mode = SANDBOX, refreshes = true }: Options = {},
): Promise<Page> {
  const given: Record<string, Answers[string]> = { ...EMPTY, 'GET /console.json': mode, ...answers };
  const [reads, writes]: [Sent[], Sent[]] = [[], []];
  const say = (words: string): void => controller?.enqueue(new TextEncoder().encode(`${words}\n\n`));
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined;

  const reply = async (sent: Sent): Promise<{ status: number; body: unknown }> => {
    const key = `${sent.method} ${sent.path}`;
    const answer = given[key] ?? Object.entries(given).find(([each]) => matches(each, key))?.[1];
    if (answer === undefined) {
      complaints.push(`${key} was not expected`);
      return { status: 404, body: { error: 'not_found', message: 'It does not exist.' } };
    }
    const body = await (typeof answer === 'function' ? answer(sent) : answer);
    if (body instanceof Refusal) return body;
    const row = rowOf(sent.path);
    const endpoint = row && endpointOf(row.api, sent.method, row.rest);
    return { status: endpoint?.answers[0]?.status ?? 200, body };
  };
  const fetchLike = async (address: string, init: RequestInit = {}): Promise<unknown> => {
    const { pathname, searchParams } = new URL(address, location.href);
    // Its stream stays open when a page ends: it would open another one, in the page of the next test.
    if (/\/(?:events|changes\/stream)$/.test(pathname)) {
      const body = new ReadableStream<Uint8Array>({
        start(each) {
          controller = each;
          each.enqueue(new TextEncoder().encode(': open\n\n'));
        },
      });
      return { ok: true, status: 200, body };
    }
    const sent: Sent = {
      method: init.method ?? 'GET',
      path: pathname,
      query: Object.fromEntries(searchParams),
      body: typeof init.body === 'string' ? JSON.parse(init.body) : undefined,
      headers: Object.fromEntries(Object.entries(init.headers ?? {})),
    };
    (sent.method === 'GET' ? reads : writes).push(sent);
    const stopped = new Promise<never>((_, reject) => {
      init.signal?.addEventListener('abort', () => reject(new Error('aborted')));
    });
    const { status, body } = await Promise.race([reply(sent), stopped]);
    try {
      checkExchange(sent, status, body);
    } catch (error) {
      complaints.push((error as Error).message);
    }
    return {
      ok: status < 400,
      status,
      json: async () => (typeof body === 'string' ? JSON.parse(body) : structuredClone(body)),
    };
  };

  (window as unknown as { happyDOM: { setURL(url: string): void } }).happyDOM.setURL(
    `http://console.test${path}`,
  );
  document.title = '';
  localStorage.clear();
  sessionStorage.clear();
  document.body.replaceChildren(document.createElement('div'));
  vi.stubGlobal('fetch', fetchLike);
  vi.resetModules();
  const { startPage } = await import('../src/start.tsx');
  const { router } = await import('../src/shell/router.tsx');
  const { queries } = await import('../src/data/live.ts');
  const { queries: defaults = {} } = queries.getDefaultOptions();
  if (!refreshes) queries.setDefaultOptions({ queries: { ...defaults, refetchInterval: false } });
  const root = createRoot(document.body.firstElementChild as HTMLElement);
  onTestFinished(() => {
    root.unmount();
    queries.clear();
    router.history.destroy();
    vi.unstubAllGlobals();
  });
  await startPage(root);
  // Nothing is heard before, and then the page reads again. A page that does not know its server has no stream.
  const knowsServer = given['GET /console.json'] === mode;
  if (knowsServer) await vi.waitUntil(() => controller !== undefined, { timeout: 10_000 });
  const user = userEvent.setup({ delay: null });
  return {
    user,
    async press(keys, focus) {
      await user.keyboard(keys);
      await hasFocus(focus);
    },
    writes,
    reads,
    hear: (event) => say(`data: ${JSON.stringify(event)}`),
    beat: () => say(': beat'),
    answer: (more) => void Object.assign(given, more),
    text: () => document.querySelector('main')?.textContent ?? '',
  };
}

/** The same of a connector in production. */
export const openProduction = (path: string, answers: Answers): Promise<Page> =>
  openPage(path, answers, { mode: PRODUCTION });

export const button = (name: string | RegExp) => screen.findByRole('button', { name });
export const region = async (name: string) => within(await screen.findByRole('region', { name }));

/** Each of these buttons, after a question if it asks one, says why its call is refused. */
export async function saysWhyRefused(
  page: Page,
  calls: readonly (readonly [name: string | RegExp, call: string])[],
): Promise<void> {
  for (const [name, call] of calls) {
    page.answer({ [call]: new Refusal(500, 'internal_error', `No ${call}.`) });
    await page.user.click(await button(name));
    const confirm = screen.queryAllByRole('button', { name })[1];
    if (confirm !== undefined) await page.user.click(confirm);
    await waitFor(() =>
      expect(screen.getAllByRole('alert').map(({ textContent }) => textContent)).toContainEqual(
        expect.stringContaining(`No ${call}.`),
      ),
    );
  }
}

/** Waits until what has the focus has this name. */
export const hasFocus = (name: string | RegExp): Promise<void> =>
  waitFor(() => (typeof name === 'string' ? expect(focused()).toBe(name) : expect(focused()).toMatch(name)));

function focused(): string {
  const element = document.activeElement as HTMLElement & { readonly labels?: NodeListOf<HTMLElement> };
  return element.getAttribute('aria-label') ?? element.labels?.[0]?.textContent ?? element.textContent ?? '';
}

// A failure names what the page showed instead of its markup.
configure({
  asyncUtilTimeout: 10_000,
  getElementError: (message) =>
    new Error(`${message?.split('\n')[0]}\nThe page shows: ${document.querySelector('main')?.textContent}`),
});

/** What a browser has and this document does not: sizes, popovers, and no other tabs. */
const ROW_PX = 40;
const sizes: Readonly<Record<string, (this: HTMLElement) => number>> = {
  offsetHeight() {
    return this.hasAttribute('data-index') ? ROW_PX : 600;
  },
  clientHeight: () => 600,
  offsetWidth: () => 1_000,
  scrollHeight() {
    return Number.parseFloat(this.querySelector('ul')?.style.height ?? '') || 600;
  },
};
for (const [name, get] of Object.entries(sizes))
  Object.defineProperty(HTMLElement.prototype, name, { configurable: true, get });
Object.defineProperty(navigator, 'locks', { configurable: true, value: undefined });

// There are no style sheets, and reading the styles of every element takes longer than all the rest.
window.getComputedStyle = (element: Element) => {
  const { style } = element as HTMLElement;
  return {
    display: style?.display === '' ? 'block' : style?.display,
    visibility: 'visible',
    pointerEvents: 'auto',
    getPropertyValue: (name: string) => style?.getPropertyValue(name) ?? '',
  } as CSSStyleDeclaration;
};

const shown = (element: HTMLElement, isShown: boolean): void => {
  element.toggleAttribute('data-shown', isShown);
  element.style.display = isShown ? '' : 'none';
};
HTMLElement.prototype.showPopover = function () {
  shown(this, true);
};
HTMLElement.prototype.hidePopover = function () {
  shown(this, false);
};
document.onclick = ({ target }) => {
  const id = (target as Element).closest('[popovertarget]')?.getAttribute('popovertarget');
  const popover = id == null ? null : document.getElementById(id);
  if (popover !== null) shown(popover, !popover.hasAttribute('data-shown'));
};
new MutationObserver(() => {
  for (const popover of document.querySelectorAll<HTMLElement>('[popover]:not([data-shown])'))
    shown(popover, false);
}).observe(document.documentElement, { childList: true, subtree: true });

export { screen, waitFor, within };
