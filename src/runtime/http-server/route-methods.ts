import type { IRouter, RequestHandler } from 'express';

/** The handlers of a path by method, in the order in which `Allow` lists the methods. */
export type Methods = Readonly<Record<string, RequestHandler>>;

/**
 * Routes a path to exactly these methods. Any other method is answered by `refuse`, with `Allow`. This includes HEAD,
 * unless it is listed or `headIsGet` is true; with `headIsGet`, the handler of GET answers it.
 */
export function routeMethods(
  router: IRouter,
  path: string | RegExp,
  methods: Methods,
  { refuse, headIsGet = false }: { readonly refuse: RequestHandler; readonly headIsGet?: boolean },
): void {
  const handlers = new Map(Object.entries(methods));
  const allow = [...handlers.keys()].join(', ');
  const get = headIsGet ? handlers.get('GET') : undefined;
  if (get !== undefined) handlers.set('HEAD', get);
  router.all(path, (request, response, next) => {
    const handle = handlers.get(request.method);
    if (handle === undefined) response.setHeader('Allow', allow);
    return (handle ?? refuse)(request, response, next);
  });
}
