import type { Fault, ScriptedService, ServiceRequest } from './scripted-service.ts';

/** A connection that may not have paired: it is in no list. */
export interface Phone {
  readonly id: string;
  readonly label: string | null;
  status: string;
  provider: string;
}

const KEY = 'idempotency-key';
/** Ids are never given twice, as the connectors of one test file share a database. */
let ids = 0;

/**
 * What a `ScriptedService` answers to calls about connections, written from the specification: creation with keys,
 * pictures, restart, logout, deletion. A script of a test comes first.
 */
export class PhoneService {
  readonly phones = new Map<string, Phone>();
  /** Calls that change something, as they came. */
  calls: string[] = [];
  /** Idempotency keys of creations, in the order in which they came. */
  keys: string[] = [];
  /** Takes the place of the next answers, one each; null answers as usual. */
  readonly script: (Fault | null)[] = [];
  /** As `script`, but the request is carried out all the same. */
  readonly lostAnswers: Fault[] = [];
  readonly #byKey = new Map<string, string>();
  #pictures = 0;

  static attach(service: ScriptedService): PhoneService {
    const phones = new PhoneService();
    service.fault = (request) => phones.#answer(request);
    return phones;
  }

  /** Id of the connection that was created last. */
  get newest(): string {
    return [...this.phones.keys()].at(-1) ?? 'none';
  }

  add(id: string, status = 'connecting', provider = 'qr'): Phone {
    const phone: Phone = { id, label: null, status, provider };
    this.phones.set(id, phone);
    return phone;
  }

  #answer(request: ServiceRequest): Fault | undefined {
    const { method, path } = request;
    const found = /^\/connections(?:\/([^/]+)(?:\/(.+))?)?$/.exec(path);
    const isRead = path === '/messages/read';
    if (!isRead && (found === null || `${method} ${path}` === 'GET /connections')) return undefined;
    if (method !== 'GET') this.calls.push(`${method} ${path}`);
    if (method === 'POST' && path === '/connections') this.keys.push(String(request.headers[KEY]));
    const scripted = this.script.shift();
    if (scripted !== undefined && scripted !== null) return scripted;
    const answer = isRead ? this.#markRead() : this.#carryOut(request, found?.[1], found?.[2]);
    return this.lostAnswers.shift() ?? answer;
  }

  #carryOut({ method, headers, body }: ServiceRequest, id?: string, action = ''): Fault {
    if (id === undefined) return this.#create(String(headers[KEY]), body);
    const phone = this.phones.get(id);
    if (phone === undefined) return refusal(404, 'not_found');
    switch (`${method} ${action}`) {
      case 'GET ':
        return { status: 200, body: { connection: this.#detail(phone) } };
      case 'DELETE ':
        this.phones.delete(id);
        return { status: 200, body: { ok: true } };
      case 'POST restart':
        phone.status = 'connecting';
        return { status: 200, body: { ok: true, recreated: true } };
      case 'POST logout':
        phone.status = 'disconnected';
        return { status: 200, body: { ok: true } };
      default:
        return { status: 200, body: { code: 'ABCD-1234' } };
    }
  }

  #create(key: string, body: string): Fault {
    const known = this.#byKey.get(key);
    const label = (JSON.parse(body) as { label?: string }).label ?? null;
    const phone: Phone = this.phones.get(known ?? '') ?? {
      id: `new-${++ids}`,
      label,
      status: 'connecting',
      provider: 'qr',
    };
    this.phones.set(phone.id, phone);
    this.#byKey.set(key, phone.id);
    const { id, status, qr } = this.#detail(phone);
    const headers = known === undefined ? {} : { 'Idempotency-Replayed': 'true' };
    return { status: known === undefined ? 201 : 200, body: { connection: { id, status, qr } }, headers };
  }

  #markRead(): Fault {
    return { status: 200, body: { ok: true, marked: 2 } };
  }

  #detail({ id, label, status, provider }: Phone) {
    const live = status === 'connected';
    return {
      id,
      label: label ?? '',
      status,
      provider,
      phoneNumber: live ? '447700900123' : null,
      licenseStatus: live ? 'trial' : 'none',
      licenseExpires: null,
      ...(status === 'connecting' ? { qr: `data:image/png;base64,picture${++this.#pictures}` } : {}),
    };
  }
}

/** An answer with an error code of the service. */
export function refusal(status: number, error: string, headers: Record<string, string> = {}): Fault {
  return { status, body: { error }, headers };
}
