import { describe, expect, it } from 'vitest';
import { Namer, Resolver } from '../../src/scenario/names.ts';

const ID = 'cmconn0000000000000000001';
const EMPTY = {
  workspaceId: 'cworkspace00000000000001a',
  hasConnector: true,
  connections: [],
  messages: [],
  deliveries: [],
  apiKeys: [],
};

describe('the names of a recording', () => {
  it('stand for what a response has made: ids, secrets and codes', () => {
    const namer = new Namer(EMPTY, 0, '');
    namer.learn(1, { id: ID, secret: 'whsec_c2VjcmV0', pairingCode: 'ABCDEFGH' });
    expect(namer.body([ID, 'whsec_c2VjcmV0', 'ABCDEFGH'])).toEqual(['$id1', '$secret1', '$pairingCode1']);
    expect(namer.names).toMatchObject({ $id1: { cause: 1, at: ['id'] } });
  });

  it('do not stand for words of the API, wherever a response has them', () => {
    const namer = new Namer(EMPTY, 0, '');
    namer.learn(1, { events: ['message.received', 'message.status'], surface: 'webhook', type: 'reorder' });
    const body = { match: { surface: 'webhook', event: 'message.status' }, action: { type: 'reorder' } };
    expect(namer.body(body)).toEqual(body);
    expect(namer.path('sandbox', '/deliveries?event=message.received')).toBe(
      '/deliveries?event=message.received',
    );
    expect(namer.names).toEqual({});
  });

  it('do not stand for a time that somebody has written', async () => {
    const [text, time] = ['1970-01-01T00:00:01Z', '$start+5'];
    const namer = new Namer(EMPTY, 0, '');
    const body = namer.body({ text, reference: time, to: text });
    expect(body).toEqual({ text, reference: time, to: '$start+1000' });
    const resolver = new Resolver({
      names: {},
      answers: new Map(),
      world: async () => EMPTY,
      startedAt: 1_000,
    });
    expect(await resolver.resolve(body)).toEqual({ text, reference: time, to: '1970-01-01T00:00:02.000Z' });
  });

  it('take a malformed percent encoding in a path as text', () => {
    const namer = new Namer(EMPTY, 0, '');
    expect(namer.path('sandbox', '/calls?text=100%&path=%2Fa')).toBe('/calls?text=100%25&path=%2Fa');
  });

  it('do not stand for what a cause had sent before a response repeated it', () => {
    const namer = new Namer(EMPTY, 0, '');
    const body = { phoneNumber: '447700900177', label: 'Desk 2' };
    expect(namer.body(body)).toEqual(body);
    namer.learn(1, { ...body, id: ID });
    expect(namer.body(body)).toEqual(body);
    expect(namer.names).toEqual({});
  });

  it('are not defined by themselves, as an edited file could say', async () => {
    const own = { message: 'incoming', connection: '$message1', peer: '1', nth: 1 } as const;
    // A loop would stop the process, so it is noticed after a thousand turns.
    let reads = 0;
    const world = async () => {
      if (++reads > 1_000) throw new Error('it does not end');
      return EMPTY;
    };
    const resolver = new Resolver({ names: { $message1: own }, answers: new Map(), world, startedAt: 0 });
    await expect(resolver.resolve('$message1')).rejects.toThrow('$message1 is defined by itself');
  });
});
