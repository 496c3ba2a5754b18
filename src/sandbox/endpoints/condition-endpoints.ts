import type { ConditionLists } from '../conditions/condition-lists.ts';
import { verify } from '../conditions/verify.ts';
import { type WaitOptions, waitFor } from '../conditions/wait.ts';
import type { Handlers } from '../control/serve-endpoint.ts';

type Handled = Required<
  Pick<Handlers, 'listDeliveries' | 'listCalls' | 'listStoredMessages' | 'listConnections'>
>;
type Lists = {
  readonly [Name in keyof Handled]: (
    call: Parameters<Handled[Name]>[0],
    within?: string,
  ) => ReturnType<Handled[Name]>;
};

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
    deliveries: async (q, limit, within) => (await listDeliveries(call({ q, limit }), within)).entries,
    calls: async (q, limit, within) => (await listCalls(call({ q, limit }), within)).entries,
    messages: async (q, limit, within) => (await listStoredMessages(call({ q, limit }), within)).entries,
    connections: async (q, limit, within) =>
      (await listConnections(call({ q, limit, order: 'newest' as const }), within)).entries,
  };
}

/** Conditions on the lists. `ending` aborts waits when the server stops. */
export function conditionEndpoints(options: WaitOptions & { readonly ending: AbortSignal }) {
  return {
    wait: ({ body, gone }) => waitFor(options, body, AbortSignal.any([gone, options.ending])),
    verify: ({ body }) => verify(options.lists, body),
  } satisfies Handlers;
}
