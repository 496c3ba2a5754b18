import { createServer } from 'node:http';
import { systemClock } from '../../../src/runtime/clock/system-clock.ts';
import { serve } from '../../../test/support/serve.ts';

/** A delivery in transit to the listener. */
export interface Parcel {
  readonly method: string;
  readonly path: string;
  headers: Record<string, string | string[]>;
  body: Buffer;
}

/** Passes a parcel on and returns the status with which the listener answered. */
export type HandOver = (
  parcel: Parcel,
) => Promise<{ readonly status: number; readonly location: string | null }>;

/** How deliveries break one rule: the answer that the service gets in the end. */
export type Courier = (parcel: Parcel, handOver: HandOver) => Promise<number>;

/** Carries deliveries from the service to a listener and breaks a rule on the way. */
export async function startCourier(target: string, courier: Courier) {
  const handOver: HandOver = async ({ method, path, headers, body }) => {
    const flat = Object.entries(headers).flatMap(([name, value]) =>
      [value].flat().map((one): [string, string] => [name, one]),
    );
    const answer = await fetch(`${target}${path}`, {
      method,
      headers: flat,
      body: new Uint8Array(body),
      redirect: 'manual',
    });
    await answer.arrayBuffer();
    return { status: answer.status, location: answer.headers.get('location') };
  };
  const server = createServer((incoming, response) => {
    const chunks: Buffer[] = [];
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    incoming.once('end', async () => {
      const { host: _, connection: __, 'content-length': ___, ...headers } = incoming.headers;
      const parcel = {
        method: incoming.method ?? '',
        path: incoming.url ?? '',
        headers: headers as Record<string, string>,
        body: Buffer.concat(chunks),
      };
      const status = await courier(parcel, handOver).catch(() => 502);
      response.writeHead(status).end();
    });
  });
  return await serve(server);
}

/** Deliveries that break one rule, and the check that must report it. */
export interface BrokenDelivery {
  readonly what: string;
  readonly found: string;
  readonly courier: Courier;
}

/** Changes each parcel; everything else is correct. */
function changing(change: (parcel: Parcel) => void): Courier {
  return async (parcel, handOver) => {
    change(parcel);
    return (await handOver(parcel)).status;
  };
}

// biome-ignore lint/suspicious/noExplicitAny: mutations reach into bodies by field
function rewriting(change: (body: any) => void): Courier {
  return changing((parcel) => {
    const body: unknown = JSON.parse(parcel.body.toString());
    change(body);
    parcel.body = Buffer.from(JSON.stringify(body));
  });
}

const TIMESTAMP = 'x-service-timestamp';
const SIGNATURE = 'x-service-signature';

export const BROKEN_DELIVERIES: readonly BrokenDelivery[] = [
  {
    what: 'events that never arrive',
    found: 'delivery.arrives',
    courier: async () => 200,
  },
  {
    what: 'no signature',
    found: 'delivery.headers',
    courier: changing(({ headers }) => void delete headers[SIGNATURE]),
  },
  {
    what: 'two signatures',
    found: 'delivery.headers',
    courier: changing(({ headers }) => {
      headers[SIGNATURE] = [String(headers[SIGNATURE]), 'sha256=00'];
    }),
  },
  {
    what: 'a timestamp in seconds',
    found: 'delivery.headers',
    courier: changing(({ headers }) => {
      headers[TIMESTAMP] = String(headers[TIMESTAMP]).slice(0, 10);
    }),
  },
  {
    what: 'a wrong signature',
    found: 'delivery.signature',
    courier: changing(({ headers }) => {
      headers[SIGNATURE] = `sha256=${'0'.repeat(64)}`;
    }),
  },
  {
    what: 'a body that was serialized again',
    found: 'delivery.signature',
    courier: changing((parcel) => void Object.assign(parcel, { body: Buffer.from(`${parcel.body} `) })),
  },
  {
    what: 'a stale timestamp',
    found: 'delivery.fresh',
    courier: changing(({ headers }) => {
      headers[TIMESTAMP] = String(Number(headers[TIMESTAMP]) - 600_000);
    }),
  },
  {
    what: 'PUT instead of POST',
    found: 'delivery.method',
    courier: async (parcel, handOver) => (await handOver({ ...parcel, method: 'PUT' })).status,
  },
  {
    what: 'another message id',
    found: 'event.message.status',
    courier: rewriting(({ message }) => void Object.assign(message, { wa_id: 7 })),
  },
  {
    what: 'a timestamp as text',
    found: 'event.message.status',
    courier: rewriting(({ message }) => {
      message.timestamp = new Date(message.timestamp).toISOString();
    }),
  },
  {
    what: 'a field in camelCase',
    found: 'event.names',
    courier: rewriting((body) => void Object.assign(body, { connectionId: body.connection_id })),
  },
  {
    what: 'a field that no table lists',
    found: 'event.no-further-fields',
    courier: rewriting((body) => void Object.assign(body, { sent_by: 'us' })),
  },
  {
    what: 'a field of a received message left out',
    found: 'event.message.received',
    courier: rewriting(({ message }) => void delete message.media_type),
  },
  {
    what: 'an event that no table lists',
    found: 'event.known',
    courier: async (parcel, handOver) => {
      const body: unknown = JSON.parse(parcel.body.toString());
      const other = JSON.stringify(Object.assign({}, body, { event: 'message.new' }));
      await handOver({ ...parcel, body: Buffer.from(other) });
      return (await handOver(parcel)).status;
    },
  },
  {
    what: 'a single attempt',
    found: 'delivery.three-attempts',
    courier: async (parcel, handOver) => {
      await handOver(parcel);
      return 200;
    },
  },
  {
    what: 'a fourth attempt',
    found: 'delivery.three-attempts',
    courier: async (parcel, handOver) => {
      const { status } = await handOver(parcel);
      return status === 404 ? (await handOver(parcel)).status : status;
    },
  },
  {
    what: 'a redirect that is followed',
    found: 'delivery.redirect',
    courier: async (parcel, handOver) => {
      const { status, location } = await handOver(parcel);
      return location === null
        ? status
        : (await handOver({ ...parcel, path: new URL(location).pathname })).status;
    },
  },
  {
    what: 'a redirect that counts as success',
    found: 'delivery.redirect',
    courier: async (parcel, handOver) => {
      const { status } = await handOver(parcel);
      return status === 302 ? 200 : status;
    },
  },
  {
    what: 'a new timestamp for each attempt',
    found: 'delivery.identical',
    courier: changing(({ headers }) => {
      headers[TIMESTAMP] = String(Date.now()).padStart(13, '0');
    }),
  },
  {
    what: 'attempts without a wait',
    found: 'delivery.delays',
    courier: async (parcel, handOver) => {
      for (let attempt = 0; attempt < 3; attempt++) {
        const { status } = await handOver(parcel);
        if (status < 300) return status;
      }
      return 200;
    },
  },
  {
    what: 'an attempt with too short a timeout',
    found: 'delivery.timeout',
    courier: (parcel, handOver) =>
      Promise.race([handOver(parcel).then(({ status }) => status), systemClock.sleep(1_000).then(() => 504)]),
  },
  {
    what: 'an event that is sent again after success',
    found: 'delivery.success',
    courier: async (parcel, handOver) => {
      const { status } = await handOver(parcel);
      if (status < 300) await handOver(parcel);
      return status;
    },
  },
];
