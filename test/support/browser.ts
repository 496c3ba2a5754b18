import { expect } from 'vitest';

/** A response in a browser. */
export interface Visit {
  /** Its final address. */
  readonly url: string;
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

interface Cookie {
  readonly host: string;
  readonly name: string;
  readonly value: string;
  readonly secure: boolean;
}

export interface VisitOptions {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * The browser of one person. It stores and sends cookies as in RFC 6265, with the rules of the prefix
 * `__Host-`, and follows redirects only on request.
 */
export class Browser {
  #cookies: Cookie[] = [];
  readonly #leadsTo: Readonly<Record<string, () => string>>;
  /** The `Set-Cookie` lines received, in order. */
  readonly lines: string[] = [];

  /** `leadsTo`: the real addresses of origins that only a proxy would serve. */
  constructor(leadsTo: Readonly<Record<string, () => string>> = {}) {
    this.#leadsTo = leadsTo;
  }

  /** The names of the cookies that it would send there, oldest first. */
  cookiesFor(address: string): string[] {
    return this.#matching(new URL(address)).map(({ name }) => name);
  }

  async visit(address: string, { method = 'GET', headers = {} }: VisitOptions = {}): Promise<Visit> {
    const url = new URL(address);
    const cookie = this.#matching(url)
      .map(({ name, value }) => `${name}=${value}`)
      .join('; ');
    const target = new URL(`${url.pathname}${url.search}`, this.#leadsTo[url.origin]?.() ?? url.origin);
    const answer = await fetch(target, {
      method,
      redirect: 'manual',
      headers: { ...headers, ...(cookie === '' ? {} : { cookie }) },
    });
    for (const line of answer.headers.getSetCookie()) this.#take(url, line);
    return { url: url.href, status: answer.status, headers: answer.headers, text: await answer.text() };
  }

  /** Follows redirects until another response arrives or they lead to this origin. */
  async follow(address: string, until?: string): Promise<Visit> {
    let visit = await this.visit(address);
    for (let location = visit.headers.get('location'); location !== null; ) {
      const next = new URL(location, visit.url);
      if (next.origin === until) return { ...visit, url: next.href };
      visit = await this.visit(next.href);
      location = visit.headers.get('location');
    }
    return visit;
  }

  /** Opens the start page of a consent and presses its button; returns the resulting address. */
  async goOn(startAddress: string): Promise<string> {
    const page = await this.visit(startAddress);
    expect(page.status).toBe(200);
    expect(page.text).toContain('<form method="post">');
    const sent = await this.visit(startAddress, { method: 'POST' });
    expect(sent.status).toBe(303);
    return sent.headers.get('location') ?? '';
  }

  #matching({ hostname, protocol }: URL): Cookie[] {
    const isSafe = protocol === 'https:';
    return this.#cookies.filter(({ host, secure }) => host === hostname && (isSafe || !secure));
  }

  #take({ hostname }: URL, line: string): void {
    this.lines.push(line);
    const [pair = '', ...attributes] = line.split('; ');
    const [name = '', value = ''] = pair.split('=');
    const secure = attributes.includes('Secure');
    if (name.startsWith('__Host-')) {
      expect(attributes).toContain('Path=/');
      expect(secure && !attributes.some((each) => each.startsWith('Domain'))).toBe(true);
    }
    const before = this.#cookies.findIndex((cookie) => cookie.host === hostname && cookie.name === name);
    const isGone = attributes.includes('Max-Age=0');
    if (before >= 0)
      this.#cookies.splice(before, 1, ...(isGone ? [] : [{ host: hostname, name, value, secure }]));
    else if (!isGone) this.#cookies.push({ host: hostname, name, value, secure });
  }
}
