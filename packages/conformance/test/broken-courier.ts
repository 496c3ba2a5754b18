import { createServer } from 'node:http';
import { systemClock } from '../../../src/runtime/clock/system-clock.ts';
import { serve } from '../../../test/support/serve.ts';
import type { Broken } from './broken-proxy.ts';

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

/** Deliveries that are correct except for one mistake. */
export const BROKEN_DELIVERIES: Broken<Courier> = {
  'delivery.arrives': {
    'events that never arrive': async () => 200,
  },
  'delivery.headers': {
    'no signature': changing(({ headers }) => void delete headers[SIGNATURE]),
    'two signatures': changing(({ headers }) => {
      headers[SIGNATURE] = [String(headers[SIGNATURE]), 'sha256=00'];
    }),
    'a timestamp in seconds': changing(({ headers }) => {
      headers[TIMESTAMP] = String(headers[TIMESTAMP]).slice(0, 10);
    }),
  },
  'delivery.signature': {
    'a wrong signature': changing(({ headers }) => {
      headers[SIGNATURE] = `sha256=${'0'.repeat(64)}`;
    }),
    'a body that was serialized again': changing(
      (parcel) => void Object.assign(parcel, { body: Buffer.from(`${parcel.body} `) }),
    ),
  },
  'delivery.fresh': {
    'a stale timestamp': changing(({ headers }) => {
      headers[TIMESTAMP] = String(Number(headers[TIMESTAMP]) - 600_000);
    }),
  },
  'delivery.method': {
    'PUT instead of POST': async (parcel, handOver) => (await handOver({ ...parcel, method: 'PUT' })).status,
  },
  'event.message.status': {
    'another message id': rewriting(({ message }) => void Object.assign(message, { wa_id: 7 })),
    'a timestamp as text': rewriting(({ message }) => {
      message.timestamp = new Date(message.timestamp).toISOString();
    }),
  },
  'event.names': {
    'a field in camelCase': rewriting(
      (body) => void Object.assign(body, { connectionId: body.connection_id }),
    ),
  },
  'event.no-further-fields': {
    'a field that no table lists': rewriting((body) => void Object.assign(body, { sent_by: 'us' })),
  },
  'event.message.received': {
    'a field of a received message left out': rewriting(({ message }) => void delete message.media_type),
  },
  'event.known': {
    'an event that no table lists': async (parcel, handOver) => {
      const body: unknown = JSON.parse(parcel.body.toString());
      const other = JSON.stringify(Object.assign({}, body, { event: 'message.new' }));
      await handOver({ ...parcel, body: Buffer.from(other) });
      return (await handOver(parcel)).status;
    },
  },
  'delivery.three-attempts': {
    'a single attempt': async (parcel, handOver) => {
      await handOver(parcel);
      return 200;
    },
    'a fourth attempt': async (parcel, handOver) => {
      const { status } = await handOver(parcel);
      return status === 404 ? (await handOver(parcel)).status : status;
    },
  },
  'delivery.redirect': {
    'a redirect that is followed': async (parcel, handOver) => {
      const { status, location } = await handOver(parcel);
      return location === null
        ? status
        : (await handOver({ ...parcel, path: new URL(location).pathname })).status;
    },
    'a redirect that counts as success': async (parcel, handOver) => {
      const { status } = await handOver(parcel);
      return status === 302 ? 200 : status;
    },
  },
  'delivery.identical': {
    'a new timestamp for each attempt': changing(({ headers }) => {
      headers[TIMESTAMP] = String(Date.now()).padStart(13, '0');
    }),
  },
  'delivery.delays': {
    'attempts without a wait': async (parcel, handOver) => {
      for (let attempt = 0; attempt < 3; attempt++) {
        const { status } = await handOver(parcel);
        if (status < 300) return status;
      }
      return 200;
    },
  },
  'delivery.timeout': {
    'an attempt with too short a timeout': (parcel, handOver) =>
      Promise.race([handOver(parcel).then(({ status }) => status), systemClock.sleep(1_000).then(() => 504)]),
  },
  'delivery.success': {
    'an event that is sent again after success': async (parcel, handOver) => {
      const { status } = await handOver(parcel);
      if (status < 300) await handOver(parcel);
      return status;
    },
  },
};
