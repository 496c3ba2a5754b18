import type { IRouter, RequestHandler } from 'express';

/** What a path answers, by method, in the order in which `Allow` lists them. */
export type Methods = Readonly<Record<string, RequestHandler>>;

/**
 * Routes a path to exactly these methods. For any other one `Allow` is set and `refuse` answers. HEAD is such another
 * one, unless it is listed or `headIsGet` is true: then the handler of GET answers it.
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
