import type { ConditionLists } from '../conditions/condition-lists.ts';
import { verify } from '../conditions/verify.ts';
import { type WaitOptions, waitFor } from '../conditions/wait.ts';
import type { Handlers } from '../control/serve-endpoint.ts';

type Lists = Required<
  Pick<Handlers, 'listDeliveries' | 'listCalls' | 'listStoredMessages' | 'listConnections'>
>;

/** The lists as their endpoints show them. */
export function conditionLists(endpoints: Lists): ConditionLists {
  const { listDeliveries, listCalls, listStoredMessages, listConnections } = endpoints;
  const call = <Query>(query: Query) => ({
    query,
    param: () => '',
    body: undefined,
    gone: new AbortController().signal,
  });
  return {
    deliveries: async (q, limit) => (await listDeliveries(call({ q, limit }))).entries,
    calls: async (q, limit) => (await listCalls(call({ q, limit }))).entries,
    messages: async (q, limit) => (await listStoredMessages(call({ q, limit }))).entries,
    connections: async (q, limit) =>
      (await listConnections(call({ q, limit, order: 'newest' as const }))).entries,
  };
}

/** Conditions on the lists. `ending` aborts waits when the server stops. */
export function conditionEndpoints(options: WaitOptions & { readonly ending: AbortSignal }) {
  return {
    wait: ({ body, gone }) => waitFor(options, body, AbortSignal.any([gone, options.ending])),
    verify: ({ body }) => verify(options.lists, body),
  } satisfies Handlers;
}
